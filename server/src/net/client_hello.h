// Whether a stranger has said what a TLS client says first. Part of sotto::server/net.
//
// A TLS session costs 46 kB. A server makes one only for a client that has sent a whole
// ClientHello; until then it keeps the bytes that came, at most kMaxClientHello of them.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstddef>
#include <string_view>

#include "sotto/span.h"

namespace sotto::server {

// Bytes of a record with a ClientHello. Mbed TLS sends 100 to 200, OpenSSL up to 400, and 1,700
// with the key shares of TLS 1.3.
constexpr size_t kMaxClientHello = 2048;

enum class ClientHello {
  kPartial,     // the bytes can still become one; there are fewer than kMaxClientHello
  kWhole,       // the bytes begin with one
  kImpossible,  // whatever follows, they are none, or one above the limit
};

// A ClientHello is one handshake message in one record. Its content is the business of TLS.
ClientHello CheckClientHello(ByteSpan bytes);

// Its random without the time at its front: random_bytes of RFC 5246, section 7.4.1.2.
//   bytes  CheckClientHello() is kWhole
ByteSpan RandomOf(ByteSpan bytes);

// Whether it has an extension of this number. False if the content is malformed before it.
//   bytes  CheckClientHello() is kWhole
bool HasExtension(ByteSpan bytes, size_t type);
constexpr size_t kExtendedMasterSecret = 23;  // RFC 7627

// The first protocol name (ALPN, RFC 7301) that begins with `prefix`, without the prefix. Empty if
// there is none, or the content is malformed before it.
//   bytes  CheckClientHello() is kWhole
ByteSpan FindProtocol(ByteSpan bytes, std::string_view prefix);

}  // namespace sotto::server
