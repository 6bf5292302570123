// A board whose program does what it must not: the port says so and ends QEMU with status 125. What
// it does is the first byte of the model's flash, which QEMU's `-device loader` sets: see kDeeds.
// Exit status 0: nothing that is wrong came of it.
#include "sotto/emulated/clock.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/stack.h"

extern "C" {
extern uint8_t sotto_model_flash_begin[];
}

namespace sotto {
namespace {

volatile uint32_t g_zero = 0;

void StoreAt(uintptr_t address) { *reinterpret_cast<volatile uint32_t*>(address) = 1; }

[[gnu::noipa]] uint32_t Recurse(uint32_t depth) {
  volatile uint8_t frame[256];
  frame[depth % 256] = 1;
  if (depth + 1 == g_zero) return 0;  // never
  return Recurse(depth + 1) + frame[0];
}

[[gnu::noipa]] void UseStack() {
  volatile uint8_t frame[1000];
  for (volatile uint8_t& byte : frame) byte = 1;
}

int MeasureStack() {
  emulated::ForgetStackUse();
  const uint32_t before = emulated::StackUsed();
  UseStack();
  const uint32_t used = emulated::StackUsed() - before;
  return used > 900 && used < 1100 ? 0 : 1;
}
int OverflowStack() { return static_cast<int>(Recurse(0)); }
int WriteNowhere() { return StoreAt(0x70000000), 0; }
int WriteProgram() { return StoreAt(reinterpret_cast<uintptr_t>(&OverflowStack) & ~3u), 0; }

int RunNothing() {
#if defined(__riscv)
  __asm volatile(".short 0");
#else
  __asm volatile(".short 0xde00");
#endif
  return 0;
}

// The counter's lower half wraps around while the clock is read.
int WrapCounter() {
#if defined(__riscv)
  auto* const time = reinterpret_cast<volatile uint32_t*>(0x0200bff8);
  time[0] = 0xffff0000;  // 6.5 ms before
#endif
  emulated::StartClock();
  const uint32_t first_ticks = emulated::Ticks();
  uint64_t last = emulated::NowMs();
  for (;;) {
    const uint64_t now = emulated::NowMs();
    if (now < last || now > last + 1000) return 1;
    last = now;
    if (now >= 20) break;
  }
  const uint32_t ticks = emulated::Ticks() - first_ticks;
  return uint64_t{ticks} * emulated::NanosecondsPerTick() >= 19000000 ? 0 : 2;
}

constexpr int (*kDeeds[])() = {MeasureStack, WrapCounter,   RunNothing,
                               WriteNowhere, OverflowStack, WriteProgram};

}  // namespace
}  // namespace sotto

int main(int, char**) {
  return sotto::kDeeds[*static_cast<volatile uint8_t*>(sotto_model_flash_begin)]();
}
