#include <mbedtls/chacha20.h>

#include "sotto/bytes.h"
#include "sotto/crypto.h"

namespace sotto {

Key::~Key() { SecureWipe(bytes, sizeof(bytes)); }

Status ChaCha20Keystream(const Key& key, uint32_t stream, uint32_t first_block,
                         MutableByteSpan out) {
  uint8_t nonce[12] = {};
  StoreU32Le(stream, nonce);
  // The keystream is the encryption of zeros; Mbed TLS works in place.
  for (uint8_t& byte : out) byte = 0;
  const int error =
      mbedtls_chacha20_crypt(key.bytes, nonce, first_block, out.size(), out.data(), out.data());
  return error == 0 ? Status::kOk : Status::kCryptoFailed;
}

}  // namespace sotto
