#include "sotto/emulated/clock.h"

#include "memory_map.h"
#include "traps.h"

namespace sotto::emulated {
namespace {

// RISC-V, "Advanced Core Local Interruptor": the timer's compare register, in two halves.
constexpr uintptr_t kCompare = kTimerBase + 0x4000;
constexpr uint32_t kTicksPerMs = 1000000 / kNanosecondsPerTick;

uint64_t start = 0;

// The counter's lower half wraps around every seven minutes, perhaps between the two reads.
uint64_t Now() {
  const auto* const time = reinterpret_cast<volatile const uint32_t*>(kTimerBase + 0xbff8);
  for (;;) {
    const uint32_t high = time[1];
    const uint32_t low = time[0];
    if (high == time[1]) return uint64_t{high} << 32 | low;
  }
}

// The next interrupt comes in a millisecond.
void SetCompare() {
  const uint64_t ticks = Now() + kTicksPerMs;
  auto* const compare = reinterpret_cast<volatile uint32_t*>(kCompare);
  compare[1] = UINT32_MAX;  // no interrupt between the halves
  compare[0] = static_cast<uint32_t>(ticks);
  compare[1] = static_cast<uint32_t>(ticks >> 32);
}

}  // namespace

void StartClock() {
  start = Now();
  SetCompare();
  EnableInterrupt(kTimerEnable);
}

// From the counter: under an emulator interrupts may be late or lost, the counter is exact.
uint64_t NowMs() { return (Now() - start) / kTicksPerMs; }

void SleepMs(uint32_t ms) {
  const uint64_t end = NowMs() + ms;
  while (NowMs() < end) __asm volatile("wfi" ::: "memory");
}

}  // namespace sotto::emulated

void SottoOnTick() { sotto::emulated::SetCompare(); }
