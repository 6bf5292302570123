// Connections until they have proved a device's key: see loop.h. Part of sotto::server/net.
//
// A stranger costs a Peer, and after its first byte the bytes of its ClientHello. admission.h says
// who comes in, who leaves and who may begin a handshake.
#include <new>

#include "net/client_hello.h"
#include "net/loop.h"

namespace sotto::server {
namespace {

constexpr int kAcceptsPerTurn = 64;
constexpr uint64_t kAcceptBudgetNs = 5'000'000;  // of one turn
constexpr int kOverduePerTurn = 64;
constexpr int kLeavingPerTurn = 64;
constexpr int kResumedPerTurn = 128;                // some 10 ms of requests
constexpr uint64_t kHandshakeBudgetNs = 2'000'000;  // of one turn; the last handshake may exceed it

}  // namespace

void Server::Loop::StartListening() {
  uv_poll_start(&listening_, UV_READABLE,
                [](uv_poll_t* poll, int, int) { static_cast<Loop*>(poll->data)->AcceptBatch(); });
}

// The socket stays readable while connections wait, so the next turn takes the next batch.
void Server::Loop::AcceptBatch() {
  if (accepted_this_turn_ || stopping_) return;
  accepted_this_turn_ = true;
  const LoopMonitor::Piece piece(monitor_, LoopWork::kAccept);
  const uint64_t end_ns = uv_hrtime() + kAcceptBudgetNs;
  const auto take = [&](int socket, const Address& from) {
    Open(socket, from);
    return uv_hrtime() < end_ns;
  };
  if (listener_->Accept(kAcceptsPerTurn, take) != posix::Acceptor::Result::kNoFiles) return;
  // A closed connection gives its file back, so the next turn can accept. Without one to close the
  // loop would spin.
  if (Peer* peer = Find(admission_.OldestSilent())) {
    ++figures_.made_room;
    Close(*peer, "made room for another connection");
    return;
  }
  out_of_files_ = true;
  uv_poll_stop(&listening_);
}

// Takes a connection in, or closes it. The limit is checked before anything is allocated.
void Server::Loop::Open(int socket, const Address& from) {
  const Admission::Room room = admission_.RoomFor(from);
  Peer* peer = room.is_there ? Enter(from) : nullptr;
  if (peer == nullptr) {
    ++figures_.refused;
    posix::CloseSocket(socket);
    return;
  }
  ++figures_.accepted;
  if (Peer* leaves = Find(room.leaves)) {
    ++figures_.made_room;
    Close(*leaves, "made room for another connection");
  }
  if (uv_tcp_open(&peer->handle, socket) != 0) {
    posix::CloseSocket(socket);
    Close(*peer);
    return;
  }
  StartReading(*peer);
}

// A new peer without a socket; null for want of memory.
Server::Loop::Peer* Server::Loop::Enter(const Address& from) {
  auto peer = std::unique_ptr<Peer>(new (std::nothrow) Peer(*this));
  if (peer == nullptr) return nullptr;
  try {
    peer->id = admission_.Enter(from, now());
    peers_.emplace(peer->id, peer.get());
  } catch (const std::bad_alloc&) {
    admission_.Leave(peer->id, now());
    return nullptr;
  }
  peer->entered_ms = now();
  peer->handle.data = peer.get();
  if (uv_tcp_init(&loop_, &peer->handle) == 0) return peer.release();
  admission_.Leave(peer->id, now());
  peers_.erase(peer->id);
  return nullptr;
}

// Called with the stranger's bytes; none: it has left.
void Server::Loop::OnStrangerBytes(Peer& peer, ByteSpan bytes) {
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&peer.handle));
  if (bytes.empty()) {
    leaving_.push_back(peer.id);  // thousands may leave in one turn
    return;
  }
  peer.hello.insert(peer.hello.end(), bytes.begin(), bytes.end());
  const ByteSpan hello(peer.hello.data(), peer.hello.size());
  switch (CheckClientHello(hello)) {
    case ClientHello::kPartial:
      paused_.push_back(peer.id);
      return;
    case ClientHello::kWhole:
      admission_.OnClientHello(peer.id, tokens_.DeviceOf(hello), now());
      return;
    case ClientHello::kImpossible:
      ++figures_.no_client_hello;
      Close(peer, "sent no ClientHello");
      return;
  }
}

// After the events of each turn: what the turn's share of work for strangers is.
void Server::Loop::OnTurn() {
  if (stopping_) return;
  accepted_this_turn_ = false;
  read_ns_ = 0;
  bool more = false;
  {
    const LoopMonitor::Piece piece(monitor_, LoopWork::kStrangers);
    ResumeReading();
    more = CloseOverdue() || !unread_.empty();
    more = CloseLeaving() || more;
    admission_.Sweep(now(), kAcceptsPerTurn);  // keeps up with those that come
    BeginHandshakes();
  }
  {
    const LoopMonitor::Piece piece(monitor_, LoopWork::kHandshake);
    more = WorkOnHandshakes() || more;
  }
  {
    const LoopMonitor::Piece piece(monitor_, LoopWork::kRequest);
    more = AnswerTold() || more;
    StartDecoders();
  }
  if (stopping_) return;
  if (more) {
    uv_idle_start(&busy_, [](uv_idle_t*) {});
  } else {
    uv_idle_stop(&busy_);
  }
}

// Returns true if more may be overdue.
bool Server::Loop::CloseOverdue() {
  const uint64_t patience_ms = options_.limits.handshake_timeout_ms;
  if (now() < patience_ms) return false;
  for (int closed = 0; closed < kOverduePerTurn; ++closed) {
    Peer* peer = Find(admission_.Overdue(now() - patience_ms));
    if (peer == nullptr) return false;
    ++figures_.overdue;
    Close(*peer, "no handshake in time");
  }
  return true;
}

// Returns true if more are leaving.
bool Server::Loop::CloseLeaving() {
  for (int closed = 0; closed < kLeavingPerTurn && !leaving_.empty(); ++closed) {
    if (Peer* peer = Find(leaving_.front())) Close(*peer, "left before its ClientHello");
    leaving_.pop_front();
  }
  return !leaving_.empty();
}

void Server::Loop::ResumeReading() {
  for (const Id id : paused_) {
    if (Peer* peer = Find(id)) StartReading(*peer);
  }
  paused_.clear();
  for (int resumed = 0; resumed < kResumedPerTurn && !unread_.empty(); ++resumed) {
    Peer* peer = Find(unread_.front());
    unread_.pop_front();
    if (peer == nullptr) continue;
    peer->session->unread = false;
    Pump(*peer);
  }
}

void Server::Loop::BeginHandshakes() {
  while (Peer* peer = Find(admission_.NextHandshake(now()))) BeginHandshake(*peer);
}

void Server::Loop::BeginHandshake(Peer& peer) {
  try {
    peer.session = std::make_unique<Session>(*this, peer.entered_ms);
    sessions_.insert(&peer);
    peer.session->connection.OnBytes({peer.hello.data(), peer.hello.size()}, now());
    peer.hello = std::vector<uint8_t>();
    uv_tcp_nodelay(&peer.handle, 1);
    QueueHandshake(peer);
  } catch (const std::bad_alloc&) {
    Close(peer, "no memory for a handshake");
  }
}

void Server::Loop::QueueHandshake(Peer& peer) {
  handshake_work_[admission_.IsFavoured(peer.id) ? 0 : 1].push_back(peer.id);
}

// Returns true if the budget left work over.
bool Server::Loop::WorkOnHandshakes() {
  const uint64_t end_ns = uv_hrtime() + kHandshakeBudgetNs;
  for (auto& work : handshake_work_) {
    while (!work.empty()) {
      if (uv_hrtime() >= end_ns) return true;
      Peer* peer = Find(work.front());
      work.pop_front();
      if (peer == nullptr) continue;
      try {
        peer->session->connection.ContinueHandshake(now());
        if (!peer->session->proved && !peer->session->connection.device().empty()) OnProof(*peer);
        Pump(*peer);
      } catch (const std::bad_alloc&) {
        Close(*peer, "no memory for a handshake");
      }
    }
  }
  return false;
}

// One live session of each device: the newest. An older one may be dead without knowing it, after
// the reset of a board or the loss of a network.
void Server::Loop::OnProof(Peer& peer) {
  Session& session = *peer.session;
  session.proved = true;
  session.device = devices_->Find(session.connection.device());
  const auto rekeyed = rekeyed_.find(session.device);
  const bool has_old_key = rekeyed != rekeyed_.end() && rekeyed->second > session.fleet;
  if (has_old_key || session.device == devices_->size()) {
    session.proved = false;
    Close(peer, "proved a key that was taken back meanwhile");
    return;
  }
  admission_.OnProof(peer.id, session.device, now());
  const auto [entry, is_only] = by_device_.try_emplace(session.device, &peer);
  if (events_.on_device) events_.on_device(session.device, true);
  if (is_only) return;
  Peer* older = entry->second;
  entry->second = &peer;
  ++figures_.replaced;
  Close(*older, "connected again");
}

void Server::Loop::TickStrangers() {
  while (Peer* peer = Find(admission_.Stalled(now()))) {
    ++figures_.overdue;
    Close(*peer, "stalled in the handshake while others wait");
  }
  if (out_of_files_) {
    out_of_files_ = false;
    StartListening();
  }
}

}  // namespace sotto::server
