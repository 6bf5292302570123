#include "views/progress.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fmt/format.h>

#include "sotto/posix/terminal.h"

namespace sotto::server {
namespace {

constexpr size_t kBarWidth = 24;

}  // namespace

std::string ProgressLine(size_t done, size_t total, const std::string& text, size_t columns) {
  const size_t filled = kBarWidth * done / total;
  std::string line = fmt::format("[{:#>{}}{:.>{}}] {}", "", filled, "", kBarWidth - filled, text);
  if (columns > 0 && line.size() >= columns) line.resize(columns - 1);
  return line;
}

std::string TimeLeft(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 60) return fmt::format("{} s left", whole);
  const int64_t minutes = (whole + 59) / 60;
  if (minutes < 60) return fmt::format("{} min left", minutes);
  return fmt::format("{} h {} min left", minutes / 60, minutes % 60);
}

void Progress::Show(size_t done, const std::string& text) const {
  if (!is_terminal_) {
    fmt::print(stderr, "{}\n", text);
    return;
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start_;
  std::string left;
  if (done > before_ && done < total_) {
    const double step = elapsed.count() / static_cast<double>(done - before_);
    left = TimeLeft(step * static_cast<double>(total_ - done)) + ", ";
  }
  // Returns to the start of the line, erases the line and draws it again. A new line follows only
  // after the last step.
  fmt::print(stderr, "\r\033[K{}{}",
             ProgressLine(done, total_, left + text, posix::TerminalColumns()),
             done == total_ ? "\n" : "");
  std::fflush(stderr);
}

}  // namespace sotto::server
