// Where a run's randomness comes from: one 32-byte key. Part of sotto::server/round.
//
// From the operating system, or for repeatable runs from a number, and then nothing is private:
// whoever knows the number knows all noise.
#ifndef SOTTO_ROUND_RUN_KEY_H_
#define SOTTO_ROUND_RUN_KEY_H_

#include <cstdint>
#include <optional>

#include "sotto/crypto.h"

namespace sotto::server {

// The run's key: SHA-256("sotto seed" | u64le seed), or 32 bytes of the system's entropy without a
// seed. Throws std::runtime_error if entropy or SHA-256 fails.
Key RunKey(std::optional<uint64_t> seed);

// A key for one purpose: HKDF(run key, salt = u32le a | u32le b | u32le c, info = label).
Key DeriveKey(const Key& run_key, const char* label, uint32_t a = 0, uint32_t b = 0,
              uint32_t c = 0);

}  // namespace sotto::server

#endif  // SOTTO_ROUND_RUN_KEY_H_
