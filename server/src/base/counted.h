// Counts as text, for messages to people. Part of sotto::server/base.
//
// Pure: safe from any thread.
#pragma once

#include <fmt/format.h>
#include <string>

namespace sotto::server {

// The count and its noun: "0 devices", "1 device", "2 devices".
template <typename Integer>
std::string Counted(Integer count, const char* thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

}  // namespace sotto::server
