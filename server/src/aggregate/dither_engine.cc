#include "aggregate/dither_engine.h"

#if !defined(SOTTO_OWN_KEYSTREAM)
#include <cstring>
#include <sodium/core.h>
#include <sodium/crypto_stream_chacha20.h>

#include "sotto/bytes.h"
#endif

namespace sotto::server {

#if defined(SOTTO_OWN_KEYSTREAM)

Status FastKeystream(const Key& key, uint32_t stream, uint32_t first_block, MutableByteSpan out) {
  return LanesKeystream(key, stream, first_block, out);
}

#else

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

#endif

#if defined(__x86_64__) && defined(__GNUC__)

bool HasAvx2() { return __builtin_cpu_supports("avx2") != 0; }

bool HasAvx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd");
}

#else

bool HasAvx2() { return false; }
bool HasAvx512() { return false; }

#endif

namespace {

std::vector<DecodeEngine> MakeEngines() {
  DecodeEngine engine;
  engine.keystream = FastKeystream;
  std::vector<DecodeEngine> engines = {engine};
#if defined(__x86_64__) && defined(__GNUC__)
  if (HasAvx2()) {
    engine.keystream = Avx2Keystream;
    engine.cells = Avx2Cells;
    engine.scattered = Avx2ScatteredWords;
    SetAvx2Loops(&engine);
    engines.push_back(engine);
  }
  if (HasAvx512()) {
    engine.keystream = Avx512Keystream;
    engine.cells = Avx512Cells;
    engine.scattered = Avx512ScatteredWords;
    SetAvx512Loops(&engine);
    engines.push_back(engine);
  }
#endif
  return engines;
}

}  // namespace

const std::vector<DecodeEngine>& Engines() {
  static const std::vector<DecodeEngine> engines = MakeEngines();
  return engines;
}

const DecodeEngine& FastEngine() {
  static const DecodeEngine engine = Engines().back();
  return engine;
}

}  // namespace sotto::server
