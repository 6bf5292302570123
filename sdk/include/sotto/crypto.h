// ChaCha20 keystream, SHA-256, HMAC and HKDF over the caller's memory. Part of sotto/crypto.
//
// Mbed TLS computes ChaCha20 and SHA-256. Its HKDF allocates memory, so HMAC and HKDF are built
// here on its SHA-256. Contexts live inside the objects and are wiped by their destructors. No
// heap. An object is used by one thread at a time; different objects are independent.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

constexpr size_t kKeySize = 32;          // bytes of every symmetric key
constexpr size_t kSha256Size = 32;       // bytes of a SHA-256 digest
constexpr size_t kChaChaBlockSize = 64;  // bytes of a ChaCha20 block

// A 32-byte secret that wipes itself.
struct Key {
  uint8_t bytes[kKeySize] = {};

  Key() = default;
  Key(const Key&) = default;
  Key& operator=(const Key&) = default;
  ~Key();
};

// Writes the ChaCha20 keystream (RFC 8439) under a 12-byte nonce u32le(stream) and eight zeros.
//   first_block  block counter of out's first byte
//   out          [n] any size; whole or partial blocks
// Returns kOk or kCryptoFailed (out is then zero). Any range can be generated alone.
Status ChaCha20Keystream(const Key& key, uint32_t stream, uint32_t first_block,
                         MutableByteSpan out);

// ChaCha20Keystream(), or another library's function that writes the same bits.
using KeystreamFunction = Status (*)(const Key& key, uint32_t stream, uint32_t first_block,
                                     MutableByteSpan out);

// SHA-256 (FIPS 180-4) of bytes given in pieces. After Finish() the object starts anew. Once the
// library has failed, every later call returns kCryptoFailed.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  Status Update(ByteSpan data);
  Status UpdateU32(uint32_t value);  // four bytes, little endian
  Status Finish(uint8_t (&digest)[kSha256Size]);

 private:
  Status status_ = Status::kOk;
  alignas(8) uint8_t context_[128];
};

// SHA-256 of bytes that are all there. Returns kOk or kCryptoFailed (digest untouched).
Status Sha256Digest(ByteSpan bytes, uint8_t (&digest)[kSha256Size]);

// HMAC-SHA-256 (RFC 2104). The key may have any length.
class HmacSha256 {
 public:
  explicit HmacSha256(ByteSpan key);
  ~HmacSha256();
  HmacSha256(const HmacSha256&) = delete;
  HmacSha256& operator=(const HmacSha256&) = delete;

  Status Update(ByteSpan data);
  Status Finish(uint8_t (&tag)[kSha256Size]);

 private:
  Status status_;
  Sha256 hash_;  // of the inner message, then of the outer one
  uint8_t outer_pad_[64];
};

// HKDF-SHA-256 (RFC 5869), extract then expand to one 32-byte key.
//   salt  may be empty
// Returns kOk or kCryptoFailed (out untouched).
Status HkdfSha256(ByteSpan secret, ByteSpan salt, ByteSpan info, Key* out);

}  // namespace sotto
