// A report: the operator's page and an overview in one file, which opens nothing else. Part of
// sotto::server/cli.
//
// Pure functions, safe from any thread.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sotto::server {

// The HTML of a report. It runs and shows nothing but what is in it: its content security policy
// names the hashes of its scripts and styles.
//   overview  see overview.h
std::string ReportHtml(const nlohmann::ordered_json& overview);

}  // namespace sotto::server
