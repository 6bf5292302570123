#include "sotto/bytes.h"

namespace sotto {

static_assert(sizeof(float) == 4, "Sotto needs IEEE 754 binary32");

uint32_t FloatBits(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, sizeof(bits));
  return bits;
}

float FloatFromBits(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, sizeof(value));
  return value;
}

void SecureWipe(void* p, size_t size) {
  volatile uint8_t* bytes = static_cast<volatile uint8_t*>(p);
  for (size_t i = 0; i < size; ++i) bytes[i] = 0;
}

bool ConstantTimeEqual(ByteSpan a, ByteSpan b) {
  if (a.size() != b.size()) return false;
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = difference | static_cast<uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace sotto
