// Connections until they have proved a device's key: see loop.h. Part of sotto::server/net.
//
// Behind a proxy a stranger enters from the proxy's address, and again from its own as soon as the
// proxy has said which that is (proxy_header.h).
//
// A stranger costs a Client, and after its first byte the bytes of its ClientHello. admission.h
// says who comes in, who leaves and who may begin a handshake.
#include <cstddef>
#include <fmt/format.h>
#include <new>
#include <string>
#include <utility>

#include "net/client_hello.h"
#include "net/loop.h"
#include "net/proxy_header.h"

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
  uv_poll_start(&listening_, UV_READABLE, [](uv_poll_t* poll, int, int) {
    static_cast<Loop*>(poll->data)->must_accept_ = true;
  });
}

// After all others were read in this turn. The socket stays readable while connections wait, so the
// next turn takes the next batch. A batch ends before one of it would make room: what a device said
// with its connection is read in the next turn, before any stranger behind it can push it out.
void Server::Loop::AcceptBatch() {
  if (!std::exchange(must_accept_, false)) return;
  const LoopMonitor::Piece piece(monitor_, LoopWork::kAccept);
  const uint64_t end_ns = uv_hrtime() + kAcceptBudgetNs;
  const Id newest = admission_.newest();
  const auto take = [&](int socket, const posix::IpAddress& from) {
    Open(socket, from);
    const bool is_proxy = posix::IsIn(options_.proxies, from);
    const Admission::Room room = admission_.RoomFor(posix::NetworkOf(from), is_proxy, now());
    return uv_hrtime() < end_ns && room.leaves <= newest;
  };
  if (listener_->Accept(kAcceptsPerTurn, take) != posix::Acceptor::Result::kNoFiles) return;
  // A closed connection gives its file back, so the next turn can accept. Without one to close the
  // loop would spin.
  if (Client* client = Find(admission_.OldestSilent())) {
    ++figures_.made_room;
    Close(*client, "made room for another connection");
    return;
  }
  out_of_files_ = true;
  uv_poll_stop(&listening_);
}

// Takes a connection in, or closes it. The limit is checked before anything is allocated.
void Server::Loop::Open(int socket, const posix::IpAddress& peer) {
  const Address from = posix::NetworkOf(peer);
  const bool is_proxy = posix::IsIn(options_.proxies, peer);
  const Admission::Room room = admission_.RoomFor(from, is_proxy, now());
  Client* client = room.is_there ? Enter(from) : nullptr;
  if (client == nullptr) {
    ++figures_.refused;
    posix::CloseSocket(socket);
    return;
  }
  ++figures_.accepted;
  client->awaits_header = is_proxy;
  if (Client* leaves = Find(room.leaves)) {
    ++figures_.made_room;
    Close(*leaves, "made room for another connection");
  }
  if (uv_tcp_open(&client->handle, socket) != 0) {
    posix::CloseSocket(socket);
    Close(*client);
    return;
  }
  StartReading(*client);
}

// A new client without a socket; null for want of memory.
Server::Loop::Client* Server::Loop::Enter(const Address& from) {
  auto client = std::unique_ptr<Client>(new (std::nothrow) Client(*this));
  if (client == nullptr) return nullptr;
  try {
    client->id = admission_.Enter(from, now());
    clients_.emplace(client->id, client.get());
  } catch (const std::bad_alloc&) {
    admission_.Leave(client->id, now());
    return nullptr;
  }
  client->entered_ms = now();
  client->from = from;
  client->handle.data = client.get();
  if (uv_tcp_init(&loop_, &client->handle) == 0) return client.release();
  admission_.Leave(client->id, now());
  clients_.erase(client->id);
  return nullptr;
}

// Called with the stranger's bytes; none: it has left.
void Server::Loop::OnStrangerBytes(Client& client, ByteSpan bytes) {
  uv_read_stop(reinterpret_cast<uv_stream_t*>(&client.handle));
  if (bytes.empty()) {
    leaving_.push_back(client.id);  // thousands may leave in one turn
    return;
  }
  client.hello.insert(client.hello.end(), bytes.begin(), bytes.end());
  if (client.awaits_header && !TakeProxyHeader(client)) return;
  const ByteSpan hello(client.hello.data(), client.hello.size());
  switch (CheckClientHello(hello)) {
    case ClientHello::kPartial:
      paused_.push_back(client.id);
      return;
    case ClientHello::kWhole:
      admission_.OnClientHello(client.id, tokens_.Take(hello), now());
      return;
    case ClientHello::kImpossible:
      ++figures_.no_client_hello;
      if (ReadProxyHeader(hello).state != ProxyHeader::State::kImpossible) {
        TellOfProxy(client,
                    "began with a PROXY header, and is closed: if your proxy has this address, add "
                    "it to --proxies");
      }
      Close(client, "sent no ClientHello");
      return;
  }
}

// Takes the proxy's header from the front of the bytes; false: it is not whole, or the client is
// closed.
bool Server::Loop::TakeProxyHeader(Client& client) {
  const ProxyHeader header = ReadProxyHeader({client.hello.data(), client.hello.size()});
  switch (header.state) {
    case ProxyHeader::State::kPartial:
      paused_.push_back(client.id);
      return false;
    case ProxyHeader::State::kImpossible:
      ++figures_.no_client_hello;
      TellOfProxy(client,
                  "began without a PROXY header of version 2, and is closed: have the proxy send "
                  "one (HAProxy: send-proxy-v2), or take its address out of --proxies");
      Close(client, "its proxy sent no PROXY header");
      return false;
    case ProxyHeader::State::kWhole:
      break;
  }
  client.hello.erase(client.hello.begin(),
                     client.hello.begin() + static_cast<ptrdiff_t>(header.size));
  client.awaits_header = false;
  if (header.from) EnterFrom(client, posix::NetworkOf(*header.from));
  return true;
}

// The stranger leaves the proxy's address and enters from its own, as if it came now. It has left a
// place, so there is room.
void Server::Loop::EnterFrom(Client& client, const Address& from) {
  admission_.Leave(client.id, now());
  const Admission::Room room = admission_.RoomFor(from, false, now());
  const Id id = admission_.Enter(from, now());
  auto entry = clients_.extract(client.id);
  entry.key() = id;
  clients_.insert(std::move(entry));
  client.id = id;
  client.from = from;
  client.entered_ms = now();
  if (Client* leaves = Find(room.leaves)) {
    ++figures_.made_room;
    Close(*leaves, "made room for another connection");
  }
}

// All devices may be behind that proxy, so the operator must learn of it.
//   what  it did, and what to do
void Server::Loop::TellOfProxy(const Client& client, const char* what) {
  const std::string text = fmt::format("a connection from {} {}", TextOf(client.from), what);
  if (const auto line = lines_.Take(what, "", text, now())) events_.info(*line);
}

// After the events of each turn: what the turn's share of work for strangers is.
void Server::Loop::OnTurn() {
  if (stopping_) return;
  AcceptBatch();
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
    Client* client = Find(admission_.Overdue(now() - patience_ms));
    if (client == nullptr) return false;
    ++figures_.overdue;
    Close(*client, "no handshake in time");
  }
  return true;
}

// Returns true if more are leaving.
bool Server::Loop::CloseLeaving() {
  for (int closed = 0; closed < kLeavingPerTurn && !leaving_.empty(); ++closed) {
    if (Client* client = Find(leaving_.front())) Close(*client, "left before its ClientHello");
    leaving_.pop_front();
  }
  return !leaving_.empty();
}

void Server::Loop::ResumeReading() {
  for (const Id id : paused_) {
    if (Client* client = Find(id)) StartReading(*client);
  }
  paused_.clear();
  for (int resumed = 0; resumed < kResumedPerTurn && !unread_.empty(); ++resumed) {
    Client* client = Find(unread_.front());
    unread_.pop_front();
    if (client == nullptr) continue;
    client->session->unread = false;
    Pump(*client);
  }
}

void Server::Loop::BeginHandshakes() {
  while (Client* client = Find(admission_.NextHandshake(now()))) BeginHandshake(*client);
}

void Server::Loop::BeginHandshake(Client& client) {
  try {
    client.session = std::make_unique<Session>(*this, client.entered_ms);
    sessions_.insert(&client);
    const ByteSpan hello(client.hello.data(), client.hello.size());
    client.session->former = tokens_.FormerIn(hello);
    if (!HasExtension(hello, kExtendedMasterSecret)) client.session->connection.RefuseTickets();
    client.session->connection.OnBytes(hello, now());
    client.hello = std::vector<uint8_t>();
    uv_tcp_nodelay(&client.handle, 1);
    QueueHandshake(client);
  } catch (const std::bad_alloc&) {
    Close(client, "no memory for a handshake");
  }
}

void Server::Loop::QueueHandshake(Client& client) {
  handshake_work_[admission_.IsFavoured(client.id) ? 0 : 1].push_back(client.id);
}

// Returns true if the budget left work over.
bool Server::Loop::WorkOnHandshakes() {
  const uint64_t end_ns = uv_hrtime() + kHandshakeBudgetNs;
  for (auto& work : handshake_work_) {
    while (!work.empty()) {
      if (uv_hrtime() >= end_ns) return true;
      Client* client = Find(work.front());
      work.pop_front();
      if (client == nullptr) continue;
      try {
        handshaking_ = client->session.get();
        client->session->connection.ContinueHandshake(now());
        handshaking_ = nullptr;
        if (!client->session->proved && !client->session->connection.device().empty())
          OnProof(*client);
        Pump(*client);
      } catch (const std::bad_alloc&) {
        Close(*client, "no memory for a handshake");
      }
    }
  }
  return false;
}

// One live session of each device: the newest. An older one may be dead without knowing it, after
// the reset of a board or the loss of a network.
void Server::Loop::OnProof(Client& client) {
  Session& session = *client.session;
  if (session.former != nullptr) {
    RefuseFormer(client);
    return;
  }
  session.proved = true;
  session.moved = {session.connection.received(), session.connection.answered(), 0};
  session.device = devices_->Find(session.connection.device());
  const auto rekeyed = rekeyed_.find(session.device);
  const bool has_old_key = rekeyed != rekeyed_.end() && rekeyed->second > session.fleet;
  if (has_old_key || session.device == devices_->size()) {
    session.proved = false;
    Close(client, "proved a key that was taken back meanwhile");
    return;
  }
  admission_.OnProof(client.id, session.device, now());
  figures_.resumed += session.connection.is_resumed() ? 1 : 0;
  const auto [entry, is_only] = by_device_.try_emplace(session.device, &client);
  if (events_.on_device) events_.on_device(session.device, true, 0);
  if (is_only) return;
  Client* older = entry->second;
  entry->second = &client;
  ++figures_.replaced;
  GiveWay(*older);
}

void Server::Loop::TickStrangers() {
  while (Client* client = Find(admission_.Stalled(now()))) {
    ++figures_.overdue;
    Close(*client, "stalled in the handshake while others wait");
  }
  if (out_of_files_) {
    out_of_files_ = false;
    StartListening();
  }
}

}  // namespace sotto::server
