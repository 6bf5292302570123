// INSECURE entropy, for emulated boards and tests, and for nothing else.
//
// The boards that QEMU emulates have no source of random bits. What this class gives instead can
// be guessed: a nonce that is foretold lets its guesser take the noise off an update, TLS keys that
// are foretold are none. A board with a generator reads that one in its Port instead. Only builds
// with -DSOTTO_INSECURE_ENTROPY=ON contain this.
#ifndef SOTTO_MPS2_INSECURE_ENTROPY_H_
#define SOTTO_MPS2_INSECURE_ENTROPY_H_

#if !defined(SOTTO_INSECURE_ENTROPY)
#error "This entropy is INSECURE: for tests, configure with -DSOTTO_INSECURE_ENTROPY=ON"
#endif

#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/status.h"

namespace sotto::mps2 {

// From the host's time of day in seconds and the board's ticks when the object is made, and the
// device's secret: two starts of a board are expected to differ, and whoever knows the secret needs
// to try some billions of times to find out.
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

}  // namespace sotto::mps2

#endif  // SOTTO_MPS2_INSECURE_ENTROPY_H_
