#include "cli/progress.h"

#include <cstdio>
#include <fmt/format.h>

namespace sotto::server {
namespace {

constexpr size_t kBarWidth = 24;

}  // namespace

std::string ProgressLine(size_t done, size_t total, const std::string& text) {
  const size_t filled = kBarWidth * done / total;
  return fmt::format("[{:#>{}}{:.>{}}] {}", "", filled, "", kBarWidth - filled, text);
}

void Progress::Show(size_t done, const std::string& text) const {
  if (!is_terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  // Returns to the start of the line, erases the line and draws it again. A new line follows only
  // after the last step.
  fmt::print(stderr, "\r\033[K{}{}", ProgressLine(done, total_, text), done == total_ ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace sotto::server
