#include "backends/store_key.h"

#include <sodium.h>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr char kBegin[] = "sotto-store-key 1 ";
constexpr size_t kBeginSize = sizeof(kBegin) - 1;
constexpr size_t kNonceSize = crypto_aead_xchacha20poly1305_ietf_NPUBBYTES;
constexpr size_t kTagSize = crypto_aead_xchacha20poly1305_ietf_ABYTES;
constexpr char kContext[] = "sottokey";  // of crypto_kdf: 8 bytes

static_assert(crypto_kdf_KEYBYTES == kKeySize);

Key ReadKey(const std::string& path) {
  const posix::SecretText file = posix::ReadSecretFile(path);
  const std::string_view text(file.text);
  Key key;
  const bool is_key = text.size() == kBeginSize + 2 * kKeySize + 1 && text.back() == '\n' &&
                      text.substr(0, kBeginSize) == kBegin &&
                      posix::ParseHex(text.substr(kBeginSize, 2 * kKeySize), key.bytes);
  if (!is_key) {
    throw posix::FileError(path + ": not the key of a store; copy the one of the store's servers");
  }
  return key;
}

}  // namespace

StoreKey::StoreKey(const std::string& path) : path_(path) {
  if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
  const Key key = ReadKey(path);
  crypto_kdf_derive_from_key(nonce_key_.bytes, kKeySize, 1, kContext, key.bytes);
  crypto_kdf_derive_from_key(cipher_key_.bytes, kKeySize, 2, kContext, key.bytes);
}

StoreKey::~StoreKey() = default;

void StoreKey::Create(const std::string& path) {
  const Key key = posix::RunKey(std::nullopt);
  posix::SecretText text;
  text.text.reserve(kBeginSize + 2 * kKeySize + 1);
  text.text += kBegin;
  for (const uint8_t byte : key.bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text.text += kDigits[byte >> 4];
    text.text += kDigits[byte & 15];
  }
  text.text += '\n';
  posix::WriteSecretFile(path, text.text);
}

std::vector<uint8_t> StoreKey::Wrap(ByteSpan secret) const {
  std::vector<uint8_t> wrapped(kNonceSize + secret.size() + kTagSize);
  crypto_generichash(wrapped.data(), kNonceSize, secret.data(), secret.size(), nonce_key_.bytes,
                     kKeySize);
  crypto_aead_xchacha20poly1305_ietf_encrypt(wrapped.data() + kNonceSize, nullptr, secret.data(),
                                             secret.size(), nullptr, 0, nullptr, wrapped.data(),
                                             cipher_key_.bytes);
  return wrapped;
}

std::vector<uint8_t> StoreKey::Unwrap(ByteSpan wrapped) const {
  const bool is_long_enough = wrapped.size() >= kNonceSize + kTagSize;
  std::vector<uint8_t> secret(is_long_enough ? wrapped.size() - kNonceSize - kTagSize : 0);
  if (is_long_enough &&
      crypto_aead_xchacha20poly1305_ietf_decrypt(
          secret.data(), nullptr, nullptr, wrapped.data() + kNonceSize, wrapped.size() - kNonceSize,
          nullptr, 0, wrapped.data(), cipher_key_.bytes) == 0) {
    return secret;
  }
  throw std::runtime_error(path_ +
                           ": the store's secrets are not under this key, or were changed; name "
                           "the key file with which the store was created: ?key=FILE");
}

}  // namespace sotto::server
