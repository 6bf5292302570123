// How much of its stack a program has ever needed, interrupts included.
//
// The startup code paints the stack; what is no longer painted was used. Exact to the word, but for
// a buffer on the stack that was reserved and never written. Safe anywhere.
#ifndef SOTTO_MPS2_STACK_H_
#define SOTTO_MPS2_STACK_H_

#include <cstdint>

namespace sotto::mps2 {

// Bytes that the linker script reserves: -Wl,--defsym=sotto_stack_size=N, 8 KB by default.
uint32_t StackSize();

// Bytes used so far, at the deepest; since ForgetStackUse() if that was called.
uint32_t StackUsed();

// Paints anew what lies below the caller. Not in an interrupt.
void ForgetStackUse();

}  // namespace sotto::mps2

#endif  // SOTTO_MPS2_STACK_H_
