// A reproducible stream of uniform integers under a key: ChaCha20. Part of sotto/crypto.
//
// The same key and stream number give the same values on every CPU. With a secret key the values
// are cryptographically strong. One thread at a time; the buffer is wiped by the destructor.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"

namespace sotto {

class RandomStream {
 public:
  RandomStream(const Key& key, uint32_t stream) : key_(key), stream_(stream) {}
  ~RandomStream();
  RandomStream(const RandomStream&) = delete;
  RandomStream& operator=(const RandomStream&) = delete;

  // The next 32 uniform bits. After a failure of the cryptographic library status() is not kOk and
  // every later value is 0; check it once after drawing.
  uint32_t NextU32();

  // A uniform integer in [0, bound), without bias (rejection). bound >= 1.
  uint32_t Below(uint32_t bound);

  // The next out.size() uniform bytes, from whole 32-bit words.
  void Fill(MutableByteSpan out);

  Status status() const { return status_; }

 private:
  Key key_;
  uint32_t stream_;
  uint32_t next_block_ = 0;
  uint32_t used_ = kChaChaBlockSize;  // bytes of block_ already given out
  Status status_ = Status::kOk;
  uint8_t block_[kChaChaBlockSize] = {};
};

}  // namespace sotto
