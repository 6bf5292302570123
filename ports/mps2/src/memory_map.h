// Where the board's devices lie. Private to the port; the build chooses the board.
// Source: Arm's application notes of the same numbers.
#ifndef SOTTO_MPS2_MEMORY_MAP_H_
#define SOTTO_MPS2_MEMORY_MAP_H_

#include <cstdint>

namespace sotto::mps2 {

// "FPGA system control and I/O", and a tick of the counter in it.
#if defined(SOTTO_BOARD_AN385) || defined(SOTTO_BOARD_AN386) || defined(SOTTO_BOARD_AN500)
constexpr uintptr_t kSystemControlBase = 0x40028000;
constexpr uint32_t kNanosecondsPerTick = 40;
#elif defined(SOTTO_BOARD_AN505)
constexpr uintptr_t kSystemControlBase = 0x50302000;
constexpr uint32_t kNanosecondsPerTick = 50;
#elif defined(SOTTO_BOARD_AN547)
constexpr uintptr_t kSystemControlBase = 0x59302000;
constexpr uint32_t kNanosecondsPerTick = 50;
#endif

}  // namespace sotto::mps2

#endif  // SOTTO_MPS2_MEMORY_MAP_H_
