// Sleep on POSIX systems. Part of sotto/posix. Safe in any thread.
#pragma once

#include <cstdint>

namespace sotto::posix {

// Sleeps for `ms` milliseconds, or until a signal.
void SleepMs(uint32_t ms);

}  // namespace sotto::posix
