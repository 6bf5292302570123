// Where a run's randomness comes from: one 32-byte key. Part of sotto/posix.
//
// From the operating system, or for repeatable runs from a number, and then nothing is private:
// whoever knows the number knows all noise.
#ifndef SOTTO_POSIX_RUN_KEY_H_
#define SOTTO_POSIX_RUN_KEY_H_

#include <cstdint>
#include <optional>

#include "sotto/crypto.h"

namespace sotto::posix {

// The run's key: SHA-256(key_label::kSeed | u64le seed), or 32 bytes of the system's entropy
// without a seed. Throws std::runtime_error if entropy or SHA-256 fails.
Key RunKey(std::optional<uint64_t> seed);

// sotto::DeriveKey() (sotto/keys.h), with failures as std::runtime_error.
//   label  of sotto/key_labels.h
Key DeriveKey(const Key& parent, const char* label, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0);

}  // namespace sotto::posix

#endif  // SOTTO_POSIX_RUN_KEY_H_
