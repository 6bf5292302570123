#include "sotto/emulated/clock.h"

#include "memory_map.h"
#include "sotto/emulated/counter.h"
#include "vectors.h"

namespace sotto::emulated {
namespace {

// Arm, "Armv7-M Architecture Reference Manual", B3.3: the system timer.
struct SysTick {
  volatile uint32_t control;
  volatile uint32_t reload;
  volatile uint32_t current;
};

constexpr uintptr_t kSysTickBase = 0xe000e010;
constexpr uint32_t kEnable = 1;
constexpr uint32_t kInterrupt = 2;
constexpr uint32_t kProcessorClock = 4;

constexpr uint32_t kTicksPerMs = 1000000 / kNanosecondsPerTick;

// Whole milliseconds so far, and the counter's value at the end of the last one. The board's
// counter wraps around every few minutes.
volatile uint64_t elapsed_ms = 0;
uint32_t last_ticks = 0;

// Computes the time from the counter: under an emulator interrupts may be late or lost, the counter
// is exact.
void Advance() {
  const uint32_t ms = (Ticks() - last_ticks) / kTicksPerMs;
  elapsed_ms = elapsed_ms + ms;
  last_ticks += ms * kTicksPerMs;
}

}  // namespace

void StartClock() {
  last_ticks = Ticks();
  auto* const timer = reinterpret_cast<SysTick*>(kSysTickBase);
  timer->reload = kClockHz / 1000 - 1;
  timer->current = 0;
  timer->control = kEnable | kInterrupt | kProcessorClock;
}

// The interrupt may come between the two halves of a 64-bit read.
uint64_t NowMs() {
  for (;;) {
    const uint64_t now = elapsed_ms;
    if (now == elapsed_ms) return now;
  }
}

void SleepMs(uint32_t ms) {
  const uint64_t end = NowMs() + ms;
  while (NowMs() < end) __asm volatile("wfi" ::: "memory");
}

}  // namespace sotto::emulated

void SottoOnTick() { sotto::emulated::Advance(); }
