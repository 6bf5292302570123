// What a device says in its first bytes on a TLS connection, so that it comes before strangers.
// Part of sotto/crypto.
//
// A TLS 1.2 server learns who connects only after it has begun a handshake, which costs it memory
// and computation. So a stranger who opens thousands of connections would keep devices waiting. A
// device therefore names a protocol in its ClientHello (ALPN, RFC 7301) that is made of its key. A
// server recognizes it by a lookup, and serves that connection first. No protocol is ever selected.
//
//   token = first 24 bytes of HKDF(psk, label key_label::kHello) (DeriveKey() with zeros)
//   name  = "sotto/" and the token in 48 lower-case hexadecimal digits
//
// The token is no proof of identity: the handshake is. It crosses the network in the clear, always
// the same. An attacker who reads it on the way can come first in the device's place until the
// attacker's handshake fails, and recognizes the device, whose name TLS shows as well. Without it a
// device is served as its address allows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"

namespace sotto {

struct HelloToken {
  uint8_t handle[8] = {};  // finds the device
  uint8_t proof[16] = {};  // compare it in constant time
};

constexpr char kHelloTokenPrefix[] = "sotto/";
constexpr size_t kHelloTokenDigits = 2 * sizeof(HelloToken);
constexpr size_t kHelloTokenTextSize = sizeof(kHelloTokenPrefix) - 1 + kHelloTokenDigits;

// Of a device's pre-shared key (DeriveTlsKey()). Returns kOk or kCryptoFailed.
Status DeriveHelloToken(const Key& psk, HelloToken* out);

// The protocol name and a final zero.
void WriteHelloToken(const HelloToken& token, char (&out)[kHelloTokenTextSize + 1]);

}  // namespace sotto
