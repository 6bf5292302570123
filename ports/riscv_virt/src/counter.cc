#include "sotto/emulated/counter.h"

#include "memory_map.h"

namespace sotto::emulated {
namespace {

constexpr uintptr_t kTime = kTimerBase + 0xbff8;  // mtime, its lower half

}  // namespace

uint32_t Ticks() { return *reinterpret_cast<volatile const uint32_t*>(kTime); }

uint32_t NanosecondsPerTick() { return kNanosecondsPerTick; }

}  // namespace sotto::emulated
