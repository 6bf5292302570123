// Sleep on POSIX systems. Part of sotto/posix. Safe in any thread.
#ifndef SOTTO_POSIX_SLEEP_H_
#define SOTTO_POSIX_SLEEP_H_

#include <cstdint>

namespace sotto::posix {

// Sleeps for `ms` milliseconds, or until a signal.
void SleepMs(uint32_t ms);

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_SLEEP_H_
