// INSECURE entropy, for emulated boards and tests only. Part of ports/emulated.
//
// The boards that QEMU emulates have no source of random bits. The bytes of this class can be
// guessed. No epsilon holds against an attacker who guesses a nonce in advance, and one who guesses
// TLS keys can read the session. A board with a random generator uses its generator in its Port
// instead. Only builds with -DSOTTO_INSECURE_ENTROPY=ON contain this class. One thread at a time.
#pragma once

#if !defined(SOTTO_INSECURE_ENTROPY)
#error "This entropy is INSECURE: for tests, configure with -DSOTTO_INSECURE_ENTROPY=ON"
#endif

#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/status.h"

namespace sotto::emulated {

// The bytes follow from the device's secret, and from the host's time of day in seconds and the
// board's ticks when the object is made. Two starts of a board are expected to differ. An attacker
// who knows the secret finds the bytes with some billions of tries.
class InsecureEntropy {
 public:
  explicit InsecureEntropy(const Key& secret);

  // A sotto::Port's entropy callback; context is an InsecureEntropy. Returns kOk or kEntropyFailed.
  static Status Fill(void* context, MutableByteSpan out);

 private:
  Key key_;
  Status status_;
  uint32_t stream_ = 0;
};

}  // namespace sotto::emulated
