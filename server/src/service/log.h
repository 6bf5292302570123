// The log of `sotto serve` and `sotto peers directory`: events (events.h) on standard error, as
// lines or as JSON, and the same lines for a listener. Part of sotto::server/service.
//
// One thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "service/events.h"

namespace sotto::server {

class ServeLog {
 public:
  // Lines, of level info and above.
  ServeLog();

  //   format  of posix::LogFormatNames()
  //   level   of posix::LogLevelNames(): of the least important events
  ServeLog(const std::string& format, const std::string& level);

  // Writes a line with its time: a warning if it begins with WARNING or ALARM, or else an info. A
  // log that nobody can take, for example because the terminal is gone, ends no job. The command
  // then ends with status 1 (main.cc).
  void Write(const std::string& line) const;

  // The same, of this kind, with further fields.
  void Write(const posix::EventKind& kind, const std::string& line,
             const posix::EventFields& more = {}) const;

  // `listener` gets each line from now on, as it is in a log of lines.
  void Listen(std::function<void(const std::string&)> listener) { listener_ = std::move(listener); }

 private:
  std::unique_ptr<posix::EventLog> log_;
  posix::LogLevel level_;
  std::function<void(const std::string&)> listener_;
};

// With a format other than lines the reason why this process ends early is an event of the log,
// too.
void LogLastWords(const std::string& format);

}  // namespace sotto::server
