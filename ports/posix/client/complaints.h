// Decides when a failure that comes again and again is told to people: at once, then seldom. Part
// of ports/posix/client.
//
// A value without a clock of its own. One thread at a time.
#ifndef SOTTO_POSIX_CLIENT_COMPLAINTS_H_
#define SOTTO_POSIX_CLIENT_COMPLAINTS_H_

#include <algorithm>
#include <cstdint>

namespace sotto::posix {

class Complaints {
 public:
  static constexpr uint64_t kFirstIntervalMs = 60'000;
  static constexpr uint64_t kLastIntervalMs = 3'600'000;

  // Whether a failure now is to be told: the first one since the start or Reset(), and then one at
  // most in a minute, in two, four, ..., in an hour.
  bool IsDue(uint64_t now_ms) {
    if (interval_ms_ != 0 && now_ms - told_ms_ < interval_ms_) return false;
    interval_ms_ =
        interval_ms_ == 0 ? kFirstIntervalMs : std::min(2 * interval_ms_, kLastIntervalMs);
    told_ms_ = now_ms;
    return true;
  }

  // What failed works again. Returns whether any failure was told before.
  bool Reset() {
    const bool told = interval_ms_ != 0;
    interval_ms_ = 0;
    return told;
  }

 private:
  uint64_t told_ms_ = 0;
  uint64_t interval_ms_ = 0;  // 0: nothing was told
};

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_CLIENT_COMPLAINTS_H_
