// Connections of an attacker to a server: plain sockets from an address of the attacker's choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sotto/posix/key_file.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto::live {

// Loopback addresses; the fleet of these tests connects from 127.0.0.1.
inline const std::string kAttackerAddress = "127.0.0.2";

// A socket that does not block.
class RawSocket {
 public:
  RawSocket() = default;
  // Connects from `source`, and waits until the connection is established. After a failure
  // is_open() is false.
  RawSocket(const std::string& source, uint16_t port);
  ~RawSocket();
  RawSocket(RawSocket&& other) noexcept;
  RawSocket& operator=(RawSocket&& other) noexcept;

  bool is_open() const { return socket_ >= 0; }
  // As TlsIo says.
  int Send(ByteSpan bytes) const;
  int Receive(MutableByteSpan bytes) const;
  // True if the server has closed the connection. Discards what the server sent.
  bool IsClosedByServer() const;
  // Waits until something happens on the socket.
  void Wait(int timeout_ms) const;

 private:
  int socket_ = -1;
};

std::vector<RawSocket> ConnectMany(const std::string& source, uint16_t port, size_t count);
size_t CountClosedByServer(const std::vector<RawSocket>& sockets);

// A whole ClientHello in its record. It offers all of Sotto's suites on P-256.
const std::vector<uint8_t>& ClientHelloRecord();

// What a device with this key says first on a connection.
std::vector<uint8_t> ClientHelloOf(const posix::DeviceKey& key);

// The status that ends the handshake of a client with this key.
//   before  bytes that are sent before it, as a proxy sends them
Status TryHandshake(const std::string& source, uint16_t port, const posix::DeviceKey& key,
                    ByteSpan before = {});

}  // namespace sotto::live
