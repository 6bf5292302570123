#include "sotto/emulated/stack.h"

// Addresses that the linker script defines; nothing is stored in the symbols themselves.
extern "C" {
extern uint32_t sotto_stack_begin[];
extern uint32_t sotto_stack_top[];
}

namespace sotto::emulated {
namespace {

// This value is no text, no small number and no address, so a program's data on the stack differ
// from it.
constexpr uint32_t kPaint = 0x9d3fb2c5;

}  // namespace

uint32_t StackSize() {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(sotto_stack_top) -
                               reinterpret_cast<uintptr_t>(sotto_stack_begin));
}

// Fills the stack below this function. It calls no other function, and its own frame is far smaller
// than the margin.
[[gnu::noinline]] void ForgetStackUse() {
  constexpr uintptr_t kMargin = 64;
  const uintptr_t end = reinterpret_cast<uintptr_t>(__builtin_frame_address(0)) - kMargin;
  volatile uint32_t* word = sotto_stack_begin;
  while (reinterpret_cast<uintptr_t>(word) < end) *word++ = kPaint;
}

uint32_t StackUsed() {
  const volatile uint32_t* word = sotto_stack_begin;
  while (*word == kPaint) ++word;
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(sotto_stack_top) -
                               reinterpret_cast<uintptr_t>(word));
}

}  // namespace sotto::emulated
