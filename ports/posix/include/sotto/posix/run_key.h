// The key of a run, 32 bytes, from which all of the run's randomness is derived. Part of
// sotto/posix.
//
// The key is the operating system's entropy. For repeatable runs it is computed from a seed; then
// nothing is private, because no epsilon holds against a person who knows the seed. Stateless; safe
// in any thread.
#pragma once

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
