#include "sotto/log/event_log.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "sotto/log/json_text.h"
#include "sotto/posix/port.h"
#include "sotto/posix/terminal.h"

namespace sotto::posix {
namespace {

constexpr uint64_t kFirstIntervalMs = 60'000;
constexpr uint64_t kLastIntervalMs = 3'600'000;

// Of the levels, in their order, as syslog numbers them.
constexpr int kPriorities[] = {3, 4, 6, 7};

const std::string& NameOf(LogLevel level) { return LogLevelNames()[static_cast<size_t>(level)]; }

uint64_t SystemTimeMs() {
  using std::chrono::milliseconds;
  const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<milliseconds>(since_1970).count());
}

void WriteToStandardError(const std::string& line) {
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

LogOptions WithDefaults(LogOptions options) {
  if (!options.write) options.write = WriteToStandardError;
  if (!options.time_ms) options.time_ms = SystemTimeMs;
  if (!options.steady_ms) options.steady_ms = NowMs;
  return options;
}

std::string Utc(uint64_t time_ms, const char* format) {
  const auto seconds = static_cast<std::time_t>(time_ms / 1000);
  return fmt::format(fmt::runtime(format), fmt::gmtime(seconds));
}

// The text of the kind with the fields' values.
std::string Sentence(const EventKind& kind, const EventFields& fields) {
  std::string sentence;
  std::string_view rest = kind.text;
  while (!rest.empty()) {
    const size_t open = std::min(rest.find('{'), rest.size());
    sentence += rest.substr(0, open);
    rest.remove_prefix(open);
    const size_t close = rest.find('}');
    if (close == std::string_view::npos) return sentence.append(rest);
    const std::string_view name = rest.substr(1, close - 1);
    for (const EventField& field : fields) {
      if (field.name == name) sentence += field.text;
    }
    rest.remove_prefix(close + 1);
  }
  return sentence;
}

// Which of the formats of "lines" fits standard error.
LogFormat LineFormat() {
  if (StandardErrorIsTerminal()) return TerminalLine;
  return StandardErrorIsJournal() ? JournalLine : TimedLine;
}

LogFormat JsonFormat() { return JsonLine; }

struct FormatRow {
  const char* name;
  LogFormat (*format)();
};
constexpr FormatRow kFormats[] = {{"lines", LineFormat}, {"json", JsonFormat}};

}  // namespace

const std::vector<std::string>& LogLevelNames() {
  static const std::vector<std::string> kNames = {"error", "warning", "info", "debug"};
  return kNames;
}

LogLevel LogLevelOf(const std::string& name) {
  const std::vector<std::string>& names = LogLevelNames();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw std::invalid_argument(name + ": there is no such level");
  return static_cast<LogLevel>(found - names.begin());
}

const std::vector<std::string>& LogFormatNames() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const FormatRow& row : kFormats) names.emplace_back(row.name);
    return names;
  }();
  return kNames;
}

LogFormat LogFormatFor(const std::string& name) {
  for (const FormatRow& row : kFormats) {
    if (name == row.name) return row.format();
  }
  throw std::invalid_argument(name + ": there is no such format of a log");
}

EventField::EventField(const char* field, std::string_view value)
    : name(field), text(value), json(JsonText(value)) {}

EventField::EventField(const char* field, uint64_t value)
    : name(field), text(fmt::to_string(value)), json(JsonText(value)) {}

EventField::EventField(const char* field, Seconds value)
    : name(field), text(fmt::format("{:.1f} s", value.value)), json(JsonText(value.value)) {}

EventField::EventField(const char* field, Milliseconds value)
    : name(field),
      text(fmt::format("{:.1f} s", static_cast<double>(value.value) / 1000)),
      json(JsonText(value.value)) {}

std::string TerminalLine(const LogEvent& event) {
  const std::string_view who = event.device.empty() ? event.program : event.device;
  return Printable(fmt::format("{}: {}", who, Sentence(event.kind, event.fields))) + '\n';
}

std::string TimedLine(const LogEvent& event) {
  return Utc(event.time_ms, "{:%F %T}Z ") + TerminalLine(event);
}

std::string JournalLine(const LogEvent& event) {
  return fmt::format("<{}>", kPriorities[static_cast<size_t>(event.level)]) + TerminalLine(event);
}

std::string JsonLine(const LogEvent& event) {
  JsonObject object;
  object
      .Add("time",
           JsonText(Utc(event.time_ms, "{:%FT%T}") + fmt::format(".{:03}Z", event.time_ms % 1000)))
      .Add("level", JsonText(NameOf(event.level)))
      .Add("event", JsonText(std::string_view(event.kind.name)));
  if (!event.device.empty()) object.Add("device", JsonText(event.device));
  for (const EventField& field : event.fields) object.Add(field.name, field.json);
  return object.Text() + '\n';
}

EventLog::EventLog(std::string program, LogOptions options)
    : program_(std::move(program)), options_(WithDefaults(std::move(options))) {}

void EventLog::Write(const EventKind& kind, const EventFields& fields) {
  const LogLevel level = LevelOf(kind);
  if (level > options_.level) return;
  options_.write(options_.format({kind, fields, level, program_, device_, options_.time_ms()}));
}

LogLevel EventLog::LevelOf(const EventKind& kind) {
  if (!kind.repeats) return kind.level;
  const uint64_t now_ms = options_.steady_ms();
  const auto [at, is_first] = repeats_.try_emplace(kind.name);
  Repeats& repeats = at->second;
  if (!is_first && now_ms - repeats.told_ms < repeats.interval_ms) return LogLevel::kDebug;
  repeats.interval_ms =
      is_first ? kFirstIntervalMs : std::min(2 * repeats.interval_ms, kLastIntervalMs);
  repeats.told_ms = now_ms;
  return kind.level;
}

bool EventLog::End(const EventKind& kind) { return repeats_.erase(kind.name) > 0; }

}  // namespace sotto::posix
