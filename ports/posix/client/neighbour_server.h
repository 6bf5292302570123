// Serves a node's last publication to its neighbours. Part of ports/posix/client.
//
// A separate thread accepts connections over TLS-PSK, with a pair key for each neighbour. It
// answers kGreet, and kGetPublication of the last publication: fixed bytes that are public. So a
// neighbour waits for no training. Bounded: kMostConnections at a time, a frame in and a frame out
// for each, deadlines in every state, and an answer for each in turn. Who has no pair key of the
// directory's roster gets no further than the handshake. Of those in a handshake, the oldest one of
// the address that has the most of them makes room for a new connection; without them a neighbour
// that has been idle for a second. A neighbour has one connection: its newest.
//
// The public methods are safe in any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "sotto/options/numbers.h"
#include "sotto/peer_messages.h"
#include "sotto/posix/acceptor.h"
#include "sotto/tls.h"

namespace sotto::posix {

class NeighbourServer {
 public:
  static constexpr size_t kMostConnections = 32;

  // Listens and serves from now on. Throws where Acceptor does, and std::runtime_error if TLS
  // cannot start.
  //   job_id  [kJobIdSize], copied
  NeighbourServer(const HostPort& where, ByteSpan job_id, uint32_t max_frame);
  ~NeighbourServer();
  NeighbourServer(const NeighbourServer&) = delete;
  NeighbourServer& operator=(const NeighbourServer&) = delete;

  uint16_t port() const { return acceptor_.port(); }

  // Who this node is, and the pair keys of the others by their names.
  void SetRoster(uint32_t node, uint32_t nodes, std::map<std::string, Key> keys);

  // The publication that is served from now on. Copied.
  void SetPublication(const PeerHead& name, ByteSpan bytes);

  uint64_t served() const { return served_; }  // whole publications

 private:
  struct Neighbour;
  using Place = std::list<std::unique_ptr<Neighbour>>::iterator;
  struct Publication {
    PeerHead name;
    std::vector<uint8_t> bytes;
  };

  static Status FindKey(void* context, ByteSpan identity, Key* psk);
  void Run();
  void Poll();
  Place OneToClose();
  bool MakeRoom();
  void CloseOthersOf(const Neighbour& neighbour);
  void Accept();
  bool Advance(Neighbour& neighbour);
  bool Read(Neighbour& neighbour);
  bool Answer(Neighbour& neighbour);
  PeerReply ReplyTo(Neighbour& neighbour, const PeerRequest& request,
                    std::shared_ptr<const Publication>* held);
  PeerReply Greeting(Neighbour& neighbour, const PeerRequest& request);

  Acceptor acceptor_;
  const std::vector<uint8_t> job_id_;
  const uint32_t max_frame_;
  int wake_[2] = {-1, -1};                            // a pipe: closed to end the thread
  TlsContext tls_;                                    // of the thread
  std::list<std::unique_ptr<Neighbour>> neighbours_;  // of the thread

  std::mutex mutex_;  // of the next four
  uint32_t node_ = 0;
  uint32_t nodes_ = 0;
  std::map<std::string, Key> keys_;
  std::shared_ptr<const Publication> publication_;

  std::atomic<uint64_t> served_{0};
  std::thread thread_;  // the last one: it uses all of them
};

}  // namespace sotto::posix
