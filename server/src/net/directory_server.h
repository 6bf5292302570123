// Serves a directory to nodes over TCP and TLS, on one thread: a loop around poll(). Part of
// sotto::server/net.
//
// A connection begins as a stranger. It has a TLS session once it has sent a whole ClientHello, and
// becomes a node's when it has proved the node's key; the node's former connection is then closed.
// So there are at most as many connections as nodes, and kMostStrangers. When all places of
// strangers are taken, the oldest one makes room. Each state of a connection has a deadline
// (frame_connection.h), and one whose answers are not taken is closed, too. Memory of a connection
// is bounded: nothing is read from it while it has answers to take.
//
// An answer may have to be durable first (directory.h); the loop waits for the disk meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "net/connection.h"
#include "peers/directory.h"
#include "round/devices.h"
#include "sotto/posix/acceptor.h"

namespace sotto::server {

struct DirectoryServerOptions {
  std::string host = "127.0.0.1";  // numeric address to listen on
  uint16_t port = 7178;            // 0: any free one, see DirectoryServer::port()
  // Nodes that train alone for longer than request_timeout_ms connect again.
  ConnectionLimits limits = {16384, 10000, 300000};
  // After the last node has finished: for those that are still connected, or were not told since
  // the start that it is known.
  uint64_t farewell_ms = 5000;
  bool stays = false;        // serves on when all nodes have finished, until must_stop()
  int stop_descriptor = -1;  // the loop wakes up when it can be read
  std::function<bool()> must_stop;
};

class DirectoryServer {
 public:
  static constexpr size_t kMostStrangers = 64;

  // Listens. devices has the secrets of the directory's nodes, by their names. Throws
  // std::runtime_error that says what to do, for example if the port is in use. devices and
  // directory outlive the server.
  DirectoryServer(const DirectoryServerOptions& options, const DeviceRegistry& devices,
                  Directory* directory,
                  std::function<void(const std::string& line, bool is_detail)> tell);
  ~DirectoryServer();
  DirectoryServer(const DirectoryServer&) = delete;
  DirectoryServer& operator=(const DirectoryServer&) = delete;

  uint16_t port() const { return listener_.port(); }

  // Serves until all nodes have finished, then true; or until must_stop(), then false. Throws what
  // the directory's log throws.
  bool Run();

 private:
  struct Peer;

  static Status FindKey(void* context, ByteSpan identity, Key* psk);
  void Turn();
  void Accept();
  void MakeRoom();
  void OnReadable(Peer& peer);
  bool TakeHello(Peer& peer, ByteSpan bytes);
  void Pump(Peer& peer);
  void OnProof(Peer& peer);
  bool Write(Peer& peer);
  void Close(Peer& peer, const std::string& why);
  void OnTime();
  bool HasNodes() const;

  const DirectoryServerOptions options_;
  const DeviceRegistry& devices_;
  Directory& directory_;
  const std::function<void(const std::string& line, bool is_detail)> tell_;
  std::unordered_map<std::string, uint32_t> numbers_;  // of nodes, by name
  TlsContext tls_;
  posix::Acceptor listener_;
  std::list<std::unique_ptr<Peer>> peers_;  // the oldest first
  std::vector<uint8_t> buffer_;
  bool out_of_files_ = false;  // until the next turn
};

}  // namespace sotto::server
