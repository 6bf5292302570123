// The log of a program that takes part in something for a long time: events, one line each, on
// standard error. Part of sotto::log.
//
// An EventKind is a row of a program's table. The program writes an event of a kind with fields;
// the format decides how the line looks:
//
//   constexpr EventKind kDrawn = {"drawn", LogLevel::kInfo, "drawn for round {round}"};
//   log.Write(kDrawn, {{"round", 3}});
//
//   kitchen: drawn for round 3                                            a terminal
//   2026-11-23 16:40:40Z kitchen: drawn for round 3                       a file or a pipe
//   <6>kitchen: drawn for round 3                                         systemd's journal
//   {"time":"2026-11-23T16:40:40.123Z","level":"info","event":"drawn","device":"kitchen","round":3}
//
// The journal takes <6> as the level, and does not show it. In lines control characters are \xHH,
// in JSON they are \u00HH: a text that came over the network can neither change a terminal nor add
// a line. A log that cannot be written stops nothing. One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::posix {

enum class LogLevel : uint8_t { kError, kWarning, kInfo, kDebug };

// "error", "warning", "info", "debug": in the order of the levels.
const std::vector<std::string>& LogLevelNames();

// The level of one of these names.
LogLevel LogLevelOf(const std::string& name);

struct EventKind {
  const char* name;  // of a-z and -
  LogLevel level;
  const char* text;  // for people; {FIELD} stands for the field of that name
  // It may come again and again. The first one has its level, and after it one at most in a minute,
  // in two, four, ..., in an hour, until EventLog::End(); those between have the level kDebug.
  bool repeats = false;
};

// Times of fields. People read both as seconds, "0.7 s". JSON has the number.
struct Seconds {
  double value;
};
struct Milliseconds {
  uint64_t value;
};

// A named value of an event.
struct EventField {
  EventField(const char* field, std::string_view value);
  EventField(const char* field, const char* value) : EventField(field, std::string_view(value)) {}
  EventField(const char* field, const std::string& value)
      : EventField(field, std::string_view(value)) {}
  EventField(const char* field, uint64_t value);
  EventField(const char* field, Seconds value);
  EventField(const char* field, Milliseconds value);

  const char* name;
  std::string text;  // for people; it may hold any bytes
  std::string json;
};
using EventFields = std::vector<EventField>;

// A line of the log before it has a format.
struct LogEvent {
  const EventKind& kind;
  const EventFields& fields;
  LogLevel level;
  std::string_view program;  // that writes the log
  std::string_view device;   // empty: not known yet
  uint64_t time_ms;          // since 1970, UTC
};

// A format: the whole line of an event, its end included.
using LogFormat = std::string (*)(const LogEvent& event);
std::string TerminalLine(const LogEvent& event);
std::string TimedLine(const LogEvent& event);
std::string JournalLine(const LogEvent& event);
std::string JsonLine(const LogEvent& event);

// The values of --log: "lines", "json".
const std::vector<std::string>& LogFormatNames();

// The format of one of these names for this process' standard error: "lines" has three.
LogFormat LogFormatFor(const std::string& name);

struct LogOptions {
  LogFormat format = TerminalLine;
  LogLevel level = LogLevel::kInfo;  // of the least important events that are written
  std::function<void(const std::string& line)> write;  // null: standard error
  std::function<uint64_t()> time_ms;                   // of LogEvent; null: the system's clock
  std::function<uint64_t()> steady_ms;  // a clock that does not go back; null: NowMs()
};

class EventLog {
 public:
  EventLog(std::string program, LogOptions options);

  // From now on the events are this device's.
  void SetDevice(std::string device) { device_ = std::move(device); }

  void Write(const EventKind& kind, const EventFields& fields = {});

  // What made events of this kind come again and again is over. Returns whether one of them had its
  // level, and so was told.
  bool End(const EventKind& kind);

 private:
  struct Repeats {
    uint64_t told_ms = 0;
    uint64_t interval_ms = 0;
  };

  LogLevel LevelOf(const EventKind& kind);

  const std::string program_;
  const LogOptions options_;
  std::string device_;
  std::map<std::string_view, Repeats> repeats_;  // of the kinds that were told, by name
};

}  // namespace sotto::posix
