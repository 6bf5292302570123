// Lines of a log that a network can cause, at a limited rate. Part of sotto::server/net.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <optional>
#include <string>

#include "net/bucket.h"

namespace sotto::server {

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
