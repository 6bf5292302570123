// The board's monotonic clock, and sleep without busy waiting. Part of ports/emulated.
//
// The board's counter (counter.h) measures time. A timer interrupts a thousand times a second: it
// counts the counter's wraparounds, where that has 32 bits, and ends a sleep. One thread.
#pragma once

#include <cstdint>

namespace sotto::emulated {

// Starts the clock at 0; once, before the functions below.
void StartClock();

// Milliseconds since StartClock(), as of the last interrupt; never goes back.
uint64_t NowMs();

// Returns after at least this many milliseconds. The processor sleeps between interrupts.
void SleepMs(uint32_t ms);

}  // namespace sotto::emulated
