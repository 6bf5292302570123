// How long a device waits before it asks the same once more. Part of sotto/client.
//
// The other side says how long. A side that says "at once" each time, by mistake or by intention,
// would make the device ask as fast as its link carries: its battery is empty, its radio busy, and
// the server sees nothing but this device. So "at once" is taken at its word after an answer alone
// that was kept open; without one the device waits 1 s, then 2 s, 4 s and so on, up to a minute.
//
// Plain data: one thread at a time.
#pragma once

#include <cstdint>

namespace sotto {

class RetryPace {
 public:
  // Waits below this mean "at once". No server of this project asks for less.
  static constexpr uint32_t kAtOnceMs = 10;
  static constexpr uint32_t kFirstMs = 1000;
  static constexpr uint32_t kLastMs = 60000;

  //   shortest_ms  kAtOnceMs or more: a shorter wait that was asked for is lengthened to it
  explicit RetryPace(uint32_t shortest_ms) : shortest_ms_(shortest_ms) {}

  // The wait after an answer that says to ask again in asked_ms.
  uint32_t WaitMs(uint32_t asked_ms) {
    if (asked_ms >= kAtOnceMs) {
      Forget();
      return asked_ms < shortest_ms_ ? shortest_ms_ : asked_ms;
    }
    const uint32_t wait_ms = next_ms_;
    next_ms_ = wait_ms < kLastMs / 2 ? 2 * wait_ms : kLastMs;
    return wait_ms;
  }

  // After an answer that brought something forward: the next wait without one is short again.
  void Forget() { next_ms_ = kFirstMs; }

 private:
  uint32_t shortest_ms_;
  uint32_t next_ms_ = kFirstMs;
};

}  // namespace sotto
