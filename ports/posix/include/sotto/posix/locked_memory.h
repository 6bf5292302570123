// Keeps memory that holds secrets out of the swap space. Part of sotto/posix.
//
// One thread at a time.
#pragma once

#include <cstddef>

namespace sotto::posix {

// Locks memory of the caller until it is destroyed. The memory must live longer.
class LockedMemory {
 public:
  LockedMemory() = default;
  LockedMemory(const void* memory, size_t size);
  ~LockedMemory() { Unlock(); }
  LockedMemory(LockedMemory&& other) noexcept { *this = static_cast<LockedMemory&&>(other); }
  LockedMemory& operator=(LockedMemory&& other) noexcept;

  // False if the system refused, for example because of RLIMIT_MEMLOCK.
  bool is_locked() const { return memory_ != nullptr; }

 private:
  void Unlock();

  const void* memory_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sotto::posix
