// Addresses of the board's devices. Part of ports/mps2; private to the port. Constants only.
//
// The build chooses the board. Source: Arm's application notes of the same numbers.
#pragma once

#include <cstdint>

namespace sotto::emulated {

// For each board:
//   - the base address of "FPGA system control and I/O", and the length of its counter's tick;
//   - the base address of UART0, and the number of its interrupt (the interrupt for received bytes
//     where there is a separate one);
//   - the clocks of processor and UART.
#if defined(SOTTO_BOARD_AN385) || defined(SOTTO_BOARD_AN386) || defined(SOTTO_BOARD_AN500)
constexpr uintptr_t kSystemControlBase = 0x40028000;
constexpr uint32_t kNanosecondsPerTick = 40;
constexpr uintptr_t kUartBase = 0x40004000;
constexpr uint32_t kUartInterrupt = 0;
constexpr uint32_t kClockHz = 25000000;
constexpr uint32_t kUartClockHz = 25000000;
#elif defined(SOTTO_BOARD_AN505)
constexpr uintptr_t kSystemControlBase = 0x50302000;
constexpr uint32_t kNanosecondsPerTick = 50;
constexpr uintptr_t kUartBase = 0x50200000;
constexpr uint32_t kUartInterrupt = 42;
constexpr uint32_t kClockHz = 20000000;
constexpr uint32_t kUartClockHz = 20000000;
#elif defined(SOTTO_BOARD_AN547)
constexpr uintptr_t kSystemControlBase = 0x59302000;
constexpr uint32_t kNanosecondsPerTick = 50;
constexpr uintptr_t kUartBase = 0x59303000;
constexpr uint32_t kUartInterrupt = 43;
constexpr uint32_t kClockHz = 32000000;
constexpr uint32_t kUartClockHz = 25000000;
#endif

}  // namespace sotto::emulated
