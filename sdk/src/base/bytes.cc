#include "sotto/bytes.h"

namespace sotto {

void SecureWipe(void* p, size_t size) {
  __builtin_memset(p, 0, size);
  // The compiler must assume that this reads the zeros, so it cannot remove the memset.
  __asm__ volatile("" : : "r"(p) : "memory");
}

bool ConstantTimeEqual(ByteSpan a, ByteSpan b) {
  if (a.size() != b.size()) return false;
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) difference = difference | static_cast<uint8_t>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace sotto
