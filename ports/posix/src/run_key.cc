#include "sotto/posix/run_key.h"

#include <cstring>

#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "sotto/keys.h"
#include "sotto/posix/check.h"
#include "sotto/posix/port.h"

namespace sotto::posix {

Key RunKey(std::optional<uint64_t> seed) {
  Key key;
  if (!seed) {
    Check(posix::Entropy(key.bytes), "reading the operating system's entropy");
    return key;
  }
  uint8_t number[8];
  StoreU64Le(*seed, number);
  Sha256 hash;
  const auto* const label = reinterpret_cast<const uint8_t*>(key_label::kSeed);
  Check(hash.Update({label, std::strlen(key_label::kSeed)}), "SHA-256");
  Check(hash.Update(number), "SHA-256");
  Check(hash.Finish(key.bytes), "SHA-256");
  return key;
}

Key DeriveKey(const Key& parent, const char* label, uint32_t a, uint32_t b, uint32_t c) {
  Key key;
  Check(sotto::DeriveKey(parent, label, a, b, c, &key), "HKDF");
  return key;
}

}  // namespace sotto::posix
