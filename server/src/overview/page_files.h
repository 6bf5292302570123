// The files of the operator's page (server/page/), and reports made of them. Part of
// sotto::server/overview.
//
// Pure functions and constants, safe from any thread.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "sotto/span.h"

namespace sotto::server {

// A file that the page loads: no secret, the same for everybody.
struct PageFile {
  const char* path;
  const char* built_in;
  const char* type;  // of its content

  bool is_script() const;
};

// The page itself comes first, then what it loads, in the order in which its scripts run.
Span<const PageFile> PageFiles();

// The HTML of a report: the operator's page and an overview in one file, which opens nothing else.
// It runs and shows nothing but what is in it: its content security policy names the hashes of its
// scripts and styles.
std::string ReportHtml(const nlohmann::ordered_json& overview);

}  // namespace sotto::server
