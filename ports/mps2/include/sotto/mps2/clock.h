// The board's monotonic clock, and sleep without busy waiting: the processor's own SysTick timer.
//
// One core, one thread. The interrupt runs a thousand times a second and does nothing but count.
#ifndef SOTTO_MPS2_CLOCK_H_
#define SOTTO_MPS2_CLOCK_H_

#include <cstdint>

namespace sotto::mps2 {

// Starts the clock at 0; once, before the functions below.
void StartClock();

// Milliseconds since StartClock(); never goes back. An emulator that its host keeps waiting may
// lose ticks, and the clock is then slow.
uint64_t NowMs();

// Returns after at least so many milliseconds. The processor sleeps between interrupts.
void SleepMs(uint32_t ms);

}  // namespace sotto::mps2

#endif  // SOTTO_MPS2_CLOCK_H_
