// Byte order, wiping of secrets, comparison in constant time. Part of sotto/base.
//
// Everything that leaves a device is little endian. These functions read and write one byte at a
// time, so they need no alignment and give the same result on every CPU. They keep no state: safe
// in any thread or interrupt.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/span.h"

namespace sotto {

constexpr uint32_t LoadU32Le(const uint8_t* p) {
  return static_cast<uint32_t>(p[0]) | static_cast<uint32_t>(p[1]) << 8 |
         static_cast<uint32_t>(p[2]) << 16 | static_cast<uint32_t>(p[3]) << 24;
}

constexpr uint64_t LoadU64Le(const uint8_t* p) {
  return static_cast<uint64_t>(LoadU32Le(p)) | static_cast<uint64_t>(LoadU32Le(p + 4)) << 32;
}

constexpr void StoreU32Le(uint32_t value, uint8_t* p) {
  for (int i = 0; i < 4; ++i) p[i] = static_cast<uint8_t>(value >> (8 * i));
}

constexpr void StoreU64Le(uint64_t value, uint8_t* p) {
  for (int i = 0; i < 8; ++i) p[i] = static_cast<uint8_t>(value >> (8 * i));
}

// The IEEE 754 bits of a float and back.
inline uint32_t FloatBits(float value) {
  static_assert(sizeof(float) == 4, "Sotto needs IEEE 754 binary32");
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float FloatFromBits(uint32_t bits) {
  float value = 0;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

// Overwrites [p, p + size) with zeros in a way the compiler may not remove. For secrets.
void SecureWipe(void* p, size_t size);

// Wipes the object it guards when the scope ends, on every path. T must be trivially copyable.
template <typename T>
class WipeOnExit {
 public:
  explicit WipeOnExit(T& object) : object_(object) {
    static_assert(std::is_trivially_copyable_v<T>, "only plain memory can be wiped");
  }
  ~WipeOnExit() { SecureWipe(&object_, sizeof(T)); }
  WipeOnExit(const WipeOnExit&) = delete;
  WipeOnExit& operator=(const WipeOnExit&) = delete;

 private:
  T& object_;
};

// True if both spans hold the same bytes. The time depends on the sizes only. For keys and tags.
bool ConstantTimeEqual(ByteSpan a, ByteSpan b);

}  // namespace sotto
