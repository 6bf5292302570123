// Waiting on POSIX systems.
#ifndef SOTTO_POSIX_SLEEP_H_
#define SOTTO_POSIX_SLEEP_H_

#include <cstdint>

namespace sotto::posix {

// Sleeps so long, or until a signal.
void SleepMs(uint32_t ms);

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_SLEEP_H_
