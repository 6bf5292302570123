#include "round/run_key.h"

#include <cstring>

#include "round/check.h"
#include "sotto/bytes.h"
#include "sotto/posix/port.h"

namespace sotto::server {
namespace {

constexpr char kSeedLabel[] = "sotto seed";

ByteSpan Text(const char* text) {
  return {reinterpret_cast<const uint8_t*>(text), std::strlen(text)};
}

}  // namespace

Key RunKey(std::optional<uint64_t> seed) {
  Key key;
  if (!seed) {
    Check(posix::Entropy(key.bytes), "reading the operating system's entropy");
    return key;
  }
  uint8_t number[8];
  StoreU64Le(*seed, number);
  Sha256 hash;
  Check(hash.Update(Text(kSeedLabel)), "SHA-256");
  Check(hash.Update(number), "SHA-256");
  Check(hash.Finish(key.bytes), "SHA-256");
  return key;
}

Key DeriveKey(const Key& run_key, const char* label, uint32_t a, uint32_t b, uint32_t c) {
  uint8_t numbers[12];
  StoreU32Le(a, numbers);
  StoreU32Le(b, numbers + 4);
  StoreU32Le(c, numbers + 8);
  Key key;
  Check(HkdfSha256(run_key.bytes, numbers, Text(label), &key), "HKDF");
  return key;
}

}  // namespace sotto::server
