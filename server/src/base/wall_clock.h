// The time of day. Part of sotto::server/base.
//
// Safe from any thread.
#pragma once

#include <chrono>

namespace sotto::server {

// Seconds since 1970.
inline double SecondsNow() {
  using namespace std::chrono;
  return duration<double>(system_clock::now().time_since_epoch()).count();
}

}  // namespace sotto::server
