// The board's free-running counter, for measurements. Part of ports/mps2.
//
// Under `qemu-system-arm -icount shift=0` every instruction takes one nanosecond of the board's
// time: differences then count instructions, to within a tick, and are the same in every run.
// Without -icount they follow the host's clock. Safe in any thread or interrupt.
#pragma once

#include <cstdint>

namespace sotto::mps2 {

// Ticks since the board started, modulo 2^32. Use the difference of two calls.
uint32_t Ticks();

// 40 on the boards of Cortex-M3, M4 and M7, 50 on those of M33 and M55.
uint32_t NanosecondsPerTick();

}  // namespace sotto::mps2
