// A device's connection to its server, its directory or a neighbour: TCP, and a SecureLink over it.
// Part of ports/posix/client.
//
// A server may have several addresses. The connection stays with one for as long as it answers, and
// goes on to the next, and after the last to the first, when it cannot connect or a link ends
// without any answer.
//
// It owns the socket, the TLS session and their buffers. It reports failures and prints nothing. It
// waits no longer once a stop signal has come (sotto/posix/signals.h). One thread at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "options.h"
#include "sotto/peer_messages.h"
#include "sotto/posix/key_file.h"
#include "sotto/posix/tcp.h"
#include "sotto/secure_link.h"
#include "sotto/tls_tickets.h"

namespace sotto::posix {

// The most bytes of a message that a device sends or takes.
constexpr uint32_t kMaxFrame = 4096;

// Patience for Connection::Exchange() that is longer than it waits in all.
constexpr uint64_t kUntilAnsweredMs = 1'000'000;

class Connection {
 public:
  // Connects to nothing yet.
  //   servers    at least one
  //   key        outlives the connection
  //   max_frame  the most bytes of a message
  //   resumes    it keeps its TLS session in memory, and resumes it when it opens again
  Connection(std::vector<HostPort> servers, const DeviceKey& key, uint32_t max_frame,
             bool resumes = false);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Opens the socket and starts TLS; the handshake is part of the first Exchange(). Tries each
  // server once. Blocks for at most 10 s for each address of a host, and for as long as the system
  // looks up its name. Returns false if there is no server; error() then says why. Throws
  // std::runtime_error if TLS cannot start.
  bool Open();

  // Sends a request and waits for its reply: at most patience_ms in this call, and at most 60 s in
  // all, the handshake included, which may take 20 s. Call it while the connection is open.
  //   reply  its bytes are valid until the next Exchange()
  // Returns the statuses of SecureLink::Exchange(): kWouldBlock if there is no reply yet, then call
  // it again with the same request; kLinkLost without a reply in time. After any other status but
  // kOk call Close().
  Status Exchange(const Request& request, Reply* reply, uint64_t patience_ms);
  // The same between nodes without a server.
  Status Exchange(const PeerRequest& request, PeerReply* reply, uint64_t patience_ms);

  // Says goodbye, as far as that is possible at once, and closes the socket.
  void Close();

  bool is_open() const { return stream_.is_open(); }
  // Whether the server of the last Open() has proved that it knows the device's secret. A failure
  // before that says nothing about this device: anybody on the way can make it.
  bool is_authenticated() const { return link_.is_authenticated(); }
  const std::string& error() const { return error_; }  // of the last Open(), for people
  // The one that the last Open() has connected to, or the next one tries first.
  const HostPort& server() const { return servers_[current_]; }
  bool is_only_server() const { return servers_.size() == 1; }

 private:
  bool Connect();
  void GoOn() { current_ = (current_ + 1) % servers_.size(); }
  std::string WhyNoConnection() const;
  template <class Question, class Answer>
  Status ExchangeAny(const Question& question, Answer* answer, uint64_t patience_ms);

  const std::vector<HostPort> servers_;
  size_t current_ = 0;
  bool has_answered_ = false;  // over this link
  const DeviceKey& key_;
  std::vector<uint8_t> send_;
  std::vector<uint8_t> receive_;
  bool resumes_;
  TlsTicket ticket_;
  SecureLink link_;
  TcpStream stream_;
  std::string error_;
  std::optional<uint64_t> asked_ms_;  // when the request was first given to Exchange()
};

}  // namespace sotto::posix
