#include "sotto/bytes.h"
#include "sotto/random.h"
#include "sotto/train.h"

namespace sotto {
namespace {

// Mixes all bits of x into the high bits. The odd multipliers are from the golden ratio's
// expansion.
uint32_t Mix(uint32_t x) {
  x *= 0x9e3779b1u;
  x ^= x >> 15;
  x *= 0x7f4a7c15u;
  return x ^ x >> 16;
}

}  // namespace

KeyedPermutation::~KeyedPermutation() { SecureWipe(round_keys_, sizeof(round_keys_)); }

Status KeyedPermutation::Reset(const Key& key, uint32_t index, uint32_t n) {
  RandomStream random(key, index);
  for (uint32_t& round_key : round_keys_) round_key = random.NextU32();
  n_ = n;
  half_bits_ = 1;
  while (half_bits_ < 16 && (uint64_t{1} << (2 * half_bits_)) < n) ++half_bits_;
  return random.status();
}

uint32_t KeyedPermutation::Network(uint32_t x) const {
  const uint32_t mask = (uint32_t{1} << half_bits_) - 1;
  uint32_t left = x >> half_bits_;
  uint32_t right = x & mask;
  for (const uint32_t round_key : round_keys_) {
    const uint32_t next = left ^ (Mix(right ^ round_key) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint32_t KeyedPermutation::operator()(uint32_t i) const {
  // The network permutes up to 4 n numbers. Apply it again until the result is below n.
  do {
    i = Network(i);
  } while (i >= n_);
  return i;
}

}  // namespace sotto
