// Pauses between tries that double. Part of ports/posix/client. One thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/posix/port.h"

namespace sotto::posix {

class BackOff {
 public:
  // After a success.
  void Reset() { next_ms_ = kFirstMs; }

  // The pause before the next try, in milliseconds, up to 15,000 to 45,000. It has a random part,
  // so that a fleet does not reconnect all at once. Throws std::runtime_error without entropy.
  uint32_t NextMs() {
    uint8_t random[4] = {};
    if (Entropy(random) != Status::kOk) throw std::runtime_error("no entropy");
    const uint32_t pause_ms = next_ms_ / 2 + LoadU32Le(random) % next_ms_;
    next_ms_ = std::min(2 * next_ms_, kLastMs);
    return pause_ms;
  }

 private:
  static constexpr uint32_t kFirstMs = 500;
  static constexpr uint32_t kLastMs = 30000;
  uint32_t next_ms_ = kFirstMs;
};

}  // namespace sotto::posix
