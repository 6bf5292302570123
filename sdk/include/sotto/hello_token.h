// What a device says in its first bytes on a TLS connection, so that it comes before strangers.
// Part of sotto/crypto.
//
// A TLS 1.2 server learns who connects only after it has begun a handshake, which costs it memory
// and computation. So a stranger who opens thousands of connections would keep devices waiting. A
// device therefore names a protocol in its ClientHello (ALPN, RFC 7301) that is made of its key. A
// server recognizes it by a lookup, and serves that connection first. No protocol is ever selected.
//
//   handle = first 8 bytes of HKDF(psk, label key_label::kHello) (DeriveKey() with zeros)
//   proof  = first 16 bytes of HKDF(psk, salt = random, label key_label::kHelloProof)
//   name   = "sotto/" and handle and proof in 48 lower-case hexadecimal digits
//
// The random is this ClientHello's random_bytes (RFC 5246, section 7.4.1.2), so the token is good
// in this ClientHello alone. The whole ClientHello can be said again by anybody who has read it; a
// server therefore serves each one first once (hello_tokens.h of the server). The token is no proof
// of identity: the handshake is. Its handle is always the same, so it tells which device it is, as
// TLS does. Without a token a device is served as its address allows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"

namespace sotto {

constexpr size_t kHelloRandomSize = 28;

struct HelloToken {
  uint8_t handle[8] = {};  // finds the device
  uint8_t proof[16] = {};  // compare it in constant time
};

constexpr char kHelloTokenPrefix[] = "sotto/";
constexpr size_t kHelloTokenDigits = 2 * sizeof(HelloToken);
constexpr size_t kHelloTokenTextSize = sizeof(kHelloTokenPrefix) - 1 + kHelloTokenDigits;

// Of a device's pre-shared key (DeriveTlsKey()) in a ClientHello.
//   random  [kHelloRandomSize] of the ClientHello; the handle does not depend on it
// Returns kOk or kCryptoFailed.
Status DeriveHelloToken(const Key& psk, ByteSpan random, HelloToken* out);

// The protocol name and a final zero.
void WriteHelloToken(const HelloToken& token, char (&out)[kHelloTokenTextSize + 1]);

}  // namespace sotto
