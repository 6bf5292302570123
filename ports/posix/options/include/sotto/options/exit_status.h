// The exit statuses that all programs share, and how a help text lists them. Part of sotto/options.
//
// tests/policy/page_statuses.sh compares the tables of the pages with the help texts.
#pragma once

#include <csignal>
#include <fmt/format.h>
#include <string>
#include <vector>

namespace sotto::posix {

constexpr int kExitFailure = 1;
constexpr int kExitUsage = 2;
// Of a program that a signal stopped, plus the signal's number: as shells report it.
constexpr int kExitSignal = 128;

struct ExitMeaning {
  int status = 0;
  const char* meaning = nullptr;  // no full stop
};

// "Exit status: 0 all is done; 1 it failed; 130 stopped by SIGINT (Ctrl-C); 143 by SIGTERM", of a
// command that a signal stops.
inline std::string DescribeExits(const std::vector<ExitMeaning>& exits) {
  std::string text = "Exit status: ";
  for (const ExitMeaning& each : exits) text += fmt::format("{} {}; ", each.status, each.meaning);
  return text + fmt::format("{} stopped by SIGINT (Ctrl-C); {} by SIGTERM", kExitSignal + SIGINT,
                            kExitSignal + SIGTERM);
}

}  // namespace sotto::posix
