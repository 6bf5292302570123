// The board's monotonic clock, and sleep without busy waiting. Part of ports/mps2.
//
// The board's counter (counter.h) measures time. The processor's SysTick interrupts a thousand
// times a second: it counts the counter's wraparounds and ends a sleep. One thread.
#pragma once

#include <cstdint>

namespace sotto::mps2 {

// Starts the clock at 0; once, before the functions below.
void StartClock();

// Milliseconds since StartClock(), as of the last interrupt; never goes back.
uint64_t NowMs();

// Returns after at least so many milliseconds. The processor sleeps between interrupts.
void SleepMs(uint32_t ms);

}  // namespace sotto::mps2
