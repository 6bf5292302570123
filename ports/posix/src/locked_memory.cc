#include "sotto/posix/locked_memory.h"

#include <sys/mman.h>
#include <utility>

namespace sotto::posix {

LockedMemory::LockedMemory(const void* memory, size_t size) {
  if (size == 0 || mlock(memory, size) != 0) return;
  memory_ = memory;
  size_ = size;
}

LockedMemory& LockedMemory::operator=(LockedMemory&& other) noexcept {
  if (this == &other) return *this;
  Unlock();
  memory_ = std::exchange(other.memory_, nullptr);
  size_ = std::exchange(other.size_, 0);
  return *this;
}

void LockedMemory::Unlock() {
  if (memory_ != nullptr) munlock(memory_, size_);
  memory_ = nullptr;
}

}  // namespace sotto::posix
