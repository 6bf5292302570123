#include "service/log.h"

#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <utility>

#include "base/last_words.h"
#include "sotto/options/exit_status.h"

namespace sotto::server {
namespace {

std::string Stamped(const std::string& line) {
  return fmt::format("{:%F %T}Z {}", fmt::gmtime(std::time(nullptr)), line);
}

// A line of a log of lines, wherever it goes: its first field is the text.
std::string ServeLine(const posix::LogEvent& event) {
  return Stamped(event.fields.front().text) + '\n';
}

bool BeginsWith(const std::string& line, std::string_view beginning) {
  return line.compare(0, beginning.size(), beginning) == 0;
}

}  // namespace

ServeLog::ServeLog() : ServeLog("lines", "info") {}

ServeLog::ServeLog(const std::string& format, const std::string& level)
    : level_(posix::LogLevelOf(level)) {
  posix::LogOptions options;
  options.format = format == "lines" ? ServeLine : posix::LogFormatFor(format);
  options.level = level_;
  log_ = std::make_unique<posix::EventLog>("sotto", std::move(options));
}

void ServeLog::Write(const std::string& line) const {
  const bool is_warning = BeginsWith(line, "WARNING") || BeginsWith(line, "ALARM");
  Write(is_warning ? event::kWarning : event::kInfo, line);
}

void ServeLog::Write(const posix::EventKind& kind, const std::string& line,
                     const posix::EventFields& more) const {
  posix::EventFields fields = {{"text", line}};
  fields.insert(fields.end(), more.begin(), more.end());
  log_->Write(kind, fields);
  if (listener_ && kind.level <= level_) listener_(Stamped(line));
}

void LogLastWords(const std::string& format) {
  if (format == "lines") return;
  TheLastWords() = [format](const std::string& reason, int status) {
    const bool is_signal = status > posix::kExitSignal;
    ServeLog(format, "info")
        .Write(is_signal ? event::kStopped : event::kFailed, reason,
               {{"status", static_cast<uint64_t>(status)}});
  };
}

}  // namespace sotto::server
