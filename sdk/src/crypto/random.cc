#include "sotto/random.h"

#include "sotto/bytes.h"

namespace sotto {

RandomStream::~RandomStream() { SecureWipe(block_, sizeof(block_)); }

uint32_t RandomStream::NextU32() {
  if (status_ != Status::kOk) return 0;
  if (used_ == kChaChaBlockSize) {
    status_ = ChaCha20Keystream(key_, stream_, next_block_++, block_);
    if (status_ != Status::kOk) return 0;
    used_ = 0;
  }
  const uint32_t value = LoadU32Le(block_ + used_);
  used_ += 4;
  return value;
}

uint32_t RandomStream::Below(uint32_t bound) {
  // Reject the first 2^32 mod bound values, so that every residue is equally likely.
  const uint32_t reject_below = (0u - bound) % bound;
  uint32_t value = NextU32();
  while (value < reject_below && status_ == Status::kOk) value = NextU32();
  return value % bound;
}

void RandomStream::Fill(MutableByteSpan out) {
  for (size_t i = 0; i < out.size();) {
    uint8_t word[4];
    StoreU32Le(NextU32(), word);
    for (size_t k = 0; k < sizeof(word) && i < out.size(); ++k) out[i++] = word[k];
  }
}

}  // namespace sotto
