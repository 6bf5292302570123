#include "sotto/emulated/counter.h"

#include "memory_map.h"

namespace sotto::emulated {
namespace {

constexpr uint32_t kCounterRegister = 0x18;  // COUNTER: up, no reset, prescaler off by default

}  // namespace

uint32_t Ticks() {
  return *reinterpret_cast<volatile const uint32_t*>(kSystemControlBase + kCounterRegister);
}

uint32_t NanosecondsPerTick() { return kNanosecondsPerTick; }

}  // namespace sotto::emulated
