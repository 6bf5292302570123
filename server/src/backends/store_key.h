// The key under which a store keeps its secrets in a database that others read. Part of
// sotto::server/backends.
//
// Each secret is wrapped by itself, and always to the same bytes, so that a database finds two that
// are equal: SIV (Rogaway, Shrimpton 2006) of libsodium's parts, with the nonce BLAKE2b(k1, secret)
// of 24 bytes and XChaCha20-Poly1305 under k2. A reader sees lengths, and which are equal.
//
// The file is one line of text, mode 0600: "sotto-store-key 1 " and 64 hexadecimal digits. Every
// server of a store has a copy of it. Without it the devices' secrets in the store are lost.
//
// Safe from any thread. Errors are std::runtime_error and name the file, never its contents.
#pragma once

#include <string>
#include <vector>

#include "sotto/crypto.h"
#include "sotto/span.h"

namespace sotto::server {

class StoreKey {
 public:
  // Reads the file.
  explicit StoreKey(const std::string& path);
  ~StoreKey();
  StoreKey(const StoreKey&) = delete;
  StoreKey& operator=(const StoreKey&) = delete;

  // Writes a new file with a fresh key.
  static void Create(const std::string& path);

  // 40 bytes longer than the secret.
  std::vector<uint8_t> Wrap(ByteSpan secret) const;
  // Throws if the bytes were wrapped under another key, or changed since.
  std::vector<uint8_t> Unwrap(ByteSpan wrapped) const;

 private:
  const std::string path_;
  Key nonce_key_;
  Key cipher_key_;
};

}  // namespace sotto::server
