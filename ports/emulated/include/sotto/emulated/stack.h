// Measures how much stack a program has used at most, interrupts included. Part of ports/emulated.
//
// The startup code fills the stack with a pattern; words that no longer hold it were used. The
// result is exact to the word, except for a buffer on the stack that was reserved and never
// written. Safe in any thread or interrupt, except where a function says otherwise.
#pragma once

#include <cstdint>

namespace sotto::emulated {

// Bytes that the linker script reserves: -Wl,--defsym=sotto_stack_size=N, 8 KB by default.
uint32_t StackSize();

// Bytes used so far, at the deepest; since ForgetStackUse() if that was called.
uint32_t StackUsed();

// Fills the stack below the caller with the pattern again. Not in an interrupt.
void ForgetStackUse();

}  // namespace sotto::emulated
