#include "sotto/mps2/clock.h"

#include "memory_map.h"
#include "vectors.h"

namespace sotto::mps2 {
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

volatile uint64_t ticks_ms = 0;

}  // namespace

void StartClock() {
  auto* const timer = reinterpret_cast<SysTick*>(kSysTickBase);
  timer->reload = kClockHz / 1000 - 1;
  timer->current = 0;
  timer->control = kEnable | kInterrupt | kProcessorClock;
}

// The interrupt may come between the two halves of a 64-bit read.
uint64_t NowMs() {
  for (;;) {
    const uint64_t now = ticks_ms;
    if (now == ticks_ms) return now;
  }
}

void SleepMs(uint32_t ms) {
  const uint64_t end = NowMs() + ms;
  while (NowMs() < end) __asm volatile("wfi" ::: "memory");
}

}  // namespace sotto::mps2

void SottoOnTick() { sotto::mps2::ticks_ms = sotto::mps2::ticks_ms + 1; }
