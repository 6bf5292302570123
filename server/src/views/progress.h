// Progress of long work on standard error: a bar on a terminal, plain lines elsewhere. Part of
// sotto::server/cli.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace sotto::server {

class Progress {
 public:
  // total >= 1 steps, of which `before` were done before this object was made.
  Progress(size_t total, bool is_terminal, size_t before = 0)
      : total_(total), before_(before), is_terminal_(is_terminal) {}

  // `done` steps are finished; `text` describes the result of the last step. On a terminal also how
  // much time is left, if the other steps take as long as those so far: never in a log, which
  // repeats bit for bit.
  void Show(size_t done, const std::string& text) const;

 private:
  size_t total_;
  size_t before_;
  bool is_terminal_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// The bar and the text on one line. For Show() and its test.
//   columns  of the terminal, which must not wrap the line; 0: unknown
std::string ProgressLine(size_t done, size_t total, const std::string& text, size_t columns = 0);

// "40 s left", "3 min left", "2 h 5 min left".
std::string TimeLeft(double seconds);

}  // namespace sotto::server
