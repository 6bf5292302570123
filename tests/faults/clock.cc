#include "faults/clock.h"

#include <ctime>

namespace {

constexpr time_t kBeginning = 1'700'000'000;  // seconds since 1970

time_t now = kBeginning;

}  // namespace

namespace sotto::server {

void SetWallClock(uint64_t ms) { now = kBeginning + static_cast<time_t>(ms / 1000); }

}  // namespace sotto::server

// In the place of the C library's.
extern "C" time_t time(time_t* out) noexcept {
  if (out != nullptr) *out = now;
  return now;
}
