// Rates of events: so many at once, and one for each interval in the long run. Part of
// sotto::server/net.
//
// A bucket stores one time: until when the events so far have used up their intervals (the
// "generic cell rate algorithm"). Plain values: one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>
#include <unordered_map>

namespace sotto::server {

struct Rate {
  uint64_t interval_ms;  // between two events in the long run
  uint64_t burst;        // events at once after a rest, at least 1
};

class Bucket {
 public:
  // The first time, from now_ms on, at which another event is within the rate.
  uint64_t FreeAt(const Rate& rate, uint64_t now_ms) const {
    const uint64_t slack_ms = rate.interval_ms * (rate.burst - 1);
    return std::max(now_ms, used_until_ms_ - std::min(used_until_ms_, slack_ms));
  }
  bool IsFree(const Rate& rate, uint64_t now_ms) const { return FreeAt(rate, now_ms) == now_ms; }

  // Counts an event at `at_ms`, also one above the rate.
  void Take(const Rate& rate, uint64_t at_ms) {
    used_until_ms_ = std::max(used_until_ms_, at_ms) + rate.interval_ms;
  }

  // From this time on the bucket is as good as new.
  uint64_t used_until_ms() const { return used_until_ms_; }

 private:
  uint64_t used_until_ms_ = 0;
};

// Lines of a log that somebody else can cause: limited by their reason. The first line of a reason
// comes at once. After it the same about the same subject comes at most once in a minute, in two,
// four, up to an hour; and there are at most 20 lines of a reason at once, one more each 10 s, so
// that a whole fleet with one fault does not fill the log. A line says how many were left out.
//
// It remembers each pair of reason and subject: take both from a bounded set, such as a table of
// reasons and the names of devices.
class LimitedLines {
 public:
  // The line as it is to be logged; nothing if it is above the limits.
  std::optional<std::string> Take(const std::string& reason, const std::string& subject,
                                  std::string line, uint64_t now_ms) {
    Reason& of = reasons_[reason];
    const auto [at, is_first] = of.subjects.try_emplace(subject);
    Repeats& repeats = at->second;
    const bool is_early = !is_first && now_ms - repeats.told_ms < repeats.interval_ms;
    if (is_early || !of.lines.IsFree(kLinesOfReason, now_ms)) {
      if (is_first) of.subjects.erase(at);  // another time
      ++of.left_out;
      return std::nullopt;
    }
    of.lines.Take(kLinesOfReason, now_ms);
    repeats.interval_ms = is_first ? kFirstMs : std::min(2 * repeats.interval_ms, kLastMs);
    repeats.told_ms = now_ms;
    if (of.left_out > 0) line += fmt::format("; {} more before", of.left_out);
    of.left_out = 0;
    return line;
  }

  // The reason is over for this subject: if it comes again, it is new.
  void End(const std::string& reason, const std::string& subject) {
    const auto of = reasons_.find(reason);
    if (of != reasons_.end()) of->second.subjects.erase(subject);
  }

 private:
  static constexpr uint64_t kFirstMs = 60'000;
  static constexpr uint64_t kLastMs = 3'600'000;
  static constexpr Rate kLinesOfReason = {10'000, 20};

  struct Repeats {
    uint64_t told_ms = 0;
    uint64_t interval_ms = 0;
  };
  struct Reason {
    Bucket lines;
    uint64_t left_out = 0;
    std::unordered_map<std::string, Repeats> subjects;
  };

  std::unordered_map<std::string, Reason> reasons_;
};

}  // namespace sotto::server
