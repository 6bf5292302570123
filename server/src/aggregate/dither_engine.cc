#include "aggregate/dither_engine.h"

#include <cstring>
#include <sodium/core.h>
#include <sodium/crypto_stream_chacha20.h>

#include "sotto/bytes.h"

namespace sotto::server {

Status FastKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out) {
  // Without sodium_init(), libsodium works too, but computes one block after the other.
  static const bool ready = sodium_init() >= 0;
  uint8_t nonce[crypto_stream_chacha20_ietf_NONCEBYTES] = {};
  StoreU32Le(stream, nonce);
  std::memset(out.data(), 0, out.size());
  const int error = crypto_stream_chacha20_ietf_xor_ic(out.data(), out.data(), out.size(), nonce,
                                                       first_block, key.bytes);
  return ready && error == 0 ? Status::kOk : Status::kCryptoFailed;
}

DitherEngine FastEngine() {
  static const DitherEngine::CellsFunction cells = Avx2Cells();
  return {FastKeystream, cells};
}

}  // namespace sotto::server
