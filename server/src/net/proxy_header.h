// Where a connection behind a TCP proxy comes from: the header of the PROXY protocol, version 2,
// that the proxy sends before the client's first byte. Part of sotto::server/net.
//
//   HAProxy: `server ... send-proxy-v2`. The specification, section 2.2:
//   https://www.haproxy.org/download/2.6/doc/proxy-protocol.txt
//
//   12 bytes  signature
//    1        version, 2, in the upper half; command in the lower one: 0 LOCAL, 1 PROXY
//    1        address family, 0 to 3, in the upper half; transport, 0 to 2, in the lower one
//    2        length of what follows, big-endian
//   12 or 36  of TCP over IPv4 or IPv6: addresses of source and destination, then their ports
//             further fields (TLV), which say nothing of the address
//
// A header is read as the specification asks:
//   - LOCAL is a connection of the proxy itself, a health check: what follows is ignored.
//   - Families and transports that name no address of TCP (UNSPEC, UNIX, datagrams) are taken as
//     UNSPEC: the connection counts as the proxy's own.
//   - Another version (also version 1, a line of text), another command, family or transport, or
//     addresses that the length has no room for are impossible: such a connection is to be closed.
// A checksum among the further fields is not compared: TCP has one.
//
// Anybody can send a header. Read one only from an address that is known to be a proxy's.
//
// Pure function: safe from any thread.
#pragma once

#include <cstddef>
#include <optional>

#include "sotto/posix/ip_address.h"
#include "sotto/span.h"

namespace sotto::server {

// The most bytes of a header. A sender's is always within one segment, and every system takes
// segments of 536 bytes (RFC 9293, section 3.7.1). HAProxy sends 28 or 52, and some more if it was
// told to add fields.
constexpr size_t kMaxProxyHeader = 536;

struct ProxyHeader {
  enum class State {
    kPartial,     // the bytes can still become one; there are fewer than kMaxProxyHeader
    kWhole,       // the bytes begin with one
    kImpossible,  // whatever follows, they are none, or one above the limit
  };
  State state = State::kPartial;
  size_t size = 0;                       // of kWhole: its bytes; the client's follow
  std::optional<posix::IpAddress> from;  // of kWhole: the client's address; absent: the proxy's own
};

ProxyHeader ReadProxyHeader(ByteSpan bytes);

}  // namespace sotto::server
