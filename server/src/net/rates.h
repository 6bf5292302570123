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

// Lines of a log that a network can cause, at a limited rate.
class LimitedLines {
 public:
  explicit LimitedLines(const Rate& rate) : rate_(rate) {}

  // The line as it is to be logged, with how many were left out since the last one; nothing if it
  // is above the rate.
  std::optional<std::string> Take(std::string line, uint64_t now_ms) {
    if (!lines_.IsFree(rate_, now_ms)) {
      ++left_out_;
      return std::nullopt;
    }
    lines_.Take(rate_, now_ms);
    if (left_out_ > 0) line += fmt::format("; {} more before", left_out_);
    left_out_ = 0;
    return line;
  }

 private:
  const Rate rate_;
  Bucket lines_;
  uint64_t left_out_ = 0;
};

}  // namespace sotto::server
