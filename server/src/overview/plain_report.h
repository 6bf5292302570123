// A report for readers who run no scripts: its headings and figures as HTML. Part of
// sotto::server/overview.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace sotto::server {

// What an overview says of each job, the newest first: state, privacy statement, last evaluation,
// last rounds, settings. For the body of a page. Pure.
std::string PlainReport(const nlohmann::ordered_json& overview);

}  // namespace sotto::server
