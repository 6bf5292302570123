// The keys of a device, all derived from its one 32-byte secret. Part of sotto/crypto.
//
// The secret is unique to a device and known to the server that provisioned it. A round key
// determines the dither of one update completely. Invariant: a round key encodes one update only.
// The noises of two updates under one key depend on each other: their difference has no epsilon.
// The device draws a nonce for each training, so the invariant holds even after a reset, a killed
// server or a restored backup. The functions keep no state: safe in any thread.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"

namespace sotto {

constexpr size_t kJobIdSize = 16;  // bytes; 128 random bits name a job
constexpr size_t kNonceSize = 16;  // bytes; drawn by the device for each training
constexpr size_t kSaltSize = 16;   // bytes; drawn by the server once it has the nonce
constexpr size_t kMaxDeviceIdSize = 64;

// The server's part of the key of an update: see UpdateIdentity.
struct Salt {
  uint8_t bytes[kSaltSize] = {};  // zeros if there is none
  bool is_there = false;

  ByteSpan view() const { return ByteSpan(bytes).first(is_there ? kSaltSize : 0); }
};

// Identifies one update of one device. The caller owns the spans' bytes.
struct UpdateIdentity {
  ByteSpan job_id;     // [kJobIdSize]
  ByteSpan device_id;  // [1, kMaxDeviceIdSize] characters of [A-Za-z0-9._-]
  uint32_t round = 0;
  uint32_t attempt = 0;
  ByteSpan nonce;      // [kNonceSize]
  ByteSpan salt = {};  // [kSaltSize]; empty: the server gave none
};

// A key for one purpose = HKDF(parent, salt = u32le a | u32le b | u32le c, info = label).
//   label  one of key_labels.h
// Returns kOk or kCryptoFailed.
Status DeriveKey(const Key& parent, const char* label, uint32_t a, uint32_t b, uint32_t c,
                 Key* out);

// TLS pre-shared key = HKDF(secret, salt = none, info = key_label::kTls).
Status DeriveTlsKey(const Key& secret, Key* out);

// Dither key of one update = HKDF(secret, salt = job id, info = key_label::kRound | device id |
// u32le round | u32le attempt | nonce). With a salt: info = key_label::kRoundSalted | the same |
// salt, so a device that chooses its nonce does not choose its dither. Returns kInvalidArgument for
// a size outside its range.
Status DeriveRoundKey(const Key& secret, const UpdateIdentity& update, Key* out);

// Key of the order in which a training visits its samples, and of random steps (preparation.h):
// derived like the round key, with key_label::kOrder. Returns kInvalidArgument also for an identity
// with a salt: the training begins before the server gives one.
Status DeriveOrderKey(const Key& secret, const UpdateIdentity& update, Key* out);

// True if the name has 1 to kMaxDeviceIdSize characters, all of [A-Za-z0-9._-].
bool IsValidDeviceId(ByteSpan name);

}  // namespace sotto
