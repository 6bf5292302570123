// Processor time. Part of sotto::server/base.
#pragma once

#include <cstdint>
#include <ctime>

namespace sotto::server {

// What the calling thread has computed so far, in nanoseconds. It does not run while the thread
// waits, or while others have its core.
inline uint64_t ThreadCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace sotto::server
