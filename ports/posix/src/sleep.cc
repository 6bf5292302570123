#include "sotto/posix/sleep.h"

#include <time.h>

namespace sotto::posix {

void SleepMs(uint32_t ms) {
  const timespec duration{static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000) * 1000000};
  (void)nanosleep(&duration, nullptr);
}

}  // namespace sotto::posix
