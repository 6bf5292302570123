// The board's free-running counter, for measurements. Part of ports/emulated.
//
// Under QEMU's `-icount shift=0` every instruction takes one nanosecond of the board's
// time: differences then count instructions, to within a tick, and are the same in every run.
// Without -icount they follow the host's clock. Safe in any thread or interrupt.
#pragma once

#include <cstdint>

namespace sotto::emulated {

// Ticks since the board started, modulo 2^32. Use the difference of two calls.
uint32_t Ticks();

// 40 on a Cortex-M0+, M3, M4 or M7, 50 on an M33 or M55, 100 on RISC-V.
uint32_t NanosecondsPerTick();

}  // namespace sotto::emulated
