// Progress of long work on standard error: a bar on a terminal, plain lines elsewhere. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_PROGRESS_H_
#define SOTTO_CLI_PROGRESS_H_

#include <cstddef>
#include <string>

namespace sotto::server {

class Progress {
 public:
  // total >= 1 steps.
  Progress(size_t total, bool is_terminal) : total_(total), is_terminal_(is_terminal) {}

  // `done` steps are finished; `text` describes the result of the last step.
  void Show(size_t done, const std::string& text) const;

 private:
  size_t total_;
  bool is_terminal_;
};

// The bar and the text on one line. For Show() and its test.
std::string ProgressLine(size_t done, size_t total, const std::string& text);

}  // namespace sotto::server

#endif  // SOTTO_CLI_PROGRESS_H_
