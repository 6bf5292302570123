// The log of `sotto serve`: lines on standard error, and for whoever listens. Part of
// sotto::server/cli.
//
// One thread at a time.
#pragma once

#include <functional>
#include <string>

namespace sotto::server {

class ServeLog {
 public:
  // Writes a line with its time. A log that nobody can take, for example because the terminal is
  // gone, ends no job. The command then ends with status 1 (main.cc).
  void Write(const std::string& line) const;

  // `listener` gets each line from now on, as it was written.
  void Listen(std::function<void(const std::string&)> listener) { listener_ = std::move(listener); }

 private:
  std::function<void(const std::string&)> listener_;
};

}  // namespace sotto::server
