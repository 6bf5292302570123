#include "net/directory_server.h"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <utility>

#include "net/client_hello.h"
#include "sotto/keys.h"
#include "sotto/posix/port.h"
#include "sotto/posix/sockets.h"

namespace sotto::server {
namespace {

constexpr int kTickMs = 200;
constexpr int kAcceptsPerTurn = 16;
constexpr size_t kBufferSize = 16384;
constexpr size_t kMostOutput = 65536;  // bytes of answers that wait to be sent

}  // namespace

struct DirectoryServer::Peer {
  explicit Peer(int s, uint64_t now_ms) : socket(s), begin_ms(now_ms), moved_ms(now_ms) {}
  ~Peer() { posix::CloseSocket(socket); }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  bool has_output() const { return connection && !connection->output().empty(); }

  const int socket;
  const uint64_t begin_ms;
  uint64_t moved_ms;                         // when it last took bytes of an answer
  std::vector<uint8_t> hello;                // the ClientHello so far
  std::optional<PeerConnection> connection;  // from a whole ClientHello on
  std::optional<DirectorySession> session;   // once it has proved a node's key
  bool is_closed = false;                    // to be removed
};

DirectoryServer::DirectoryServer(const DirectoryServerOptions& options,
                                 const DeviceRegistry& devices, Directory* directory,
                                 std::function<void(const std::string& line, bool is_detail)> tell)
    : options_(options),
      devices_(devices),
      directory_(*directory),
      tell_(std::move(tell)),
      listener_(options.host, options.port),
      buffer_(kBufferSize) {
  if (Status s = tls_.InitServer(posix::SystemPort(), {FindKey, this}); s != Status::kOk) {
    throw std::runtime_error(fmt::format("setting TLS up failed: {}", StatusName(s)));
  }
  for (const DirectoryNode& node : directory_.state().nodes) {
    numbers_.emplace(node.id, static_cast<uint32_t>(numbers_.size()));
  }
}

DirectoryServer::~DirectoryServer() = default;

// Devices of the store beyond the roster are unknown, like all others.
Status DirectoryServer::FindKey(void* context, ByteSpan identity, Key* psk) {
  const auto* self = static_cast<const DirectoryServer*>(context);
  const std::string name(identity.begin(), identity.end());
  const uint32_t index = self->devices_.Find(name);
  if (index == self->devices_.size() || self->numbers_.count(name) == 0) {
    return Status::kPeerRefused;
  }
  return DeriveTlsKey(self->devices_[index].secret, psk);
}

bool DirectoryServer::Run() {
  std::optional<uint64_t> finished_ms;
  for (;;) {
    if (options_.must_stop && options_.must_stop()) return false;
    if (!directory_.is_finished()) {
      finished_ms.reset();
    } else if (!finished_ms) {
      finished_ms = posix::NowMs();
    }
    const bool has_told_all = directory_.has_told_all() && !HasNodes();
    const bool is_over = finished_ms && !options_.stays &&
                         (has_told_all || posix::NowMs() >= *finished_ms + options_.farewell_ms);
    if (is_over) return true;
    Turn();
  }
}

bool DirectoryServer::HasNodes() const {
  return std::any_of(peers_.begin(), peers_.end(),
                     [](const auto& peer) { return peer->session.has_value(); });
}

// Waits for something to do, a tick at most, and does it.
void DirectoryServer::Turn() {
  std::vector<posix::WaitingSocket> sockets = {{listener_.socket(), !out_of_files_},
                                               {options_.stop_descriptor, true}};
  out_of_files_ = false;
  std::vector<Peer*> peers;
  for (const auto& peer : peers_) {
    const bool reads = !peer->connection || peer->connection->wants_input();
    sockets.push_back({peer->socket, reads && !peer->has_output(), peer->has_output()});
    peers.push_back(peer.get());
  }
  posix::WaitForSockets(&sockets, kTickMs);
  for (size_t i = 0; i < peers.size(); ++i) {
    if (!sockets[i + 2].is_ready || peers[i]->is_closed) continue;
    if (peers[i]->has_output()) {
      Pump(*peers[i]);
    } else {
      OnReadable(*peers[i]);
    }
  }
  OnTime();
  peers_.remove_if([](const auto& peer) { return peer->is_closed; });
  if (sockets[0].is_ready) Accept();
}

void DirectoryServer::Accept() {
  const auto take = [this](int socket, const posix::IpAddress&) {
    MakeRoom();
    peers_.push_back(std::make_unique<Peer>(socket, posix::NowMs()));
    return true;
  };
  const auto result = listener_.Accept(kAcceptsPerTurn, take);
  if (result == posix::Acceptor::Result::kNoFiles) out_of_files_ = true;
}

void DirectoryServer::MakeRoom() {
  const auto is_stranger = [](const auto& peer) { return !peer->session; };
  const auto strangers = std::count_if(peers_.begin(), peers_.end(), is_stranger);
  if (static_cast<size_t>(strangers) < kMostStrangers) return;
  peers_.erase(std::find_if(peers_.begin(), peers_.end(), is_stranger));
}

void DirectoryServer::OnReadable(Peer& peer) {
  const int got = posix::ReceiveNow(peer.socket, {buffer_.data(), buffer_.size()});
  if (got == 0) return;
  const ByteSpan bytes(buffer_.data(), got < 0 ? 0 : static_cast<size_t>(got));
  if (!peer.connection && !TakeHello(peer, bytes)) return;
  if (peer.hello.empty()) {
    peer.connection->OnBytes(bytes, posix::NowMs());
  } else {
    peer.connection->OnBytes({peer.hello.data(), peer.hello.size()}, posix::NowMs());
    peer.hello = std::vector<uint8_t>();
  }
  Pump(peer);
}

// Whether the ClientHello is whole; the peer then has a connection.
bool DirectoryServer::TakeHello(Peer& peer, ByteSpan bytes) {
  if (bytes.empty()) {
    Close(peer, "");
    return false;
  }
  peer.hello.insert(peer.hello.end(), bytes.begin(), bytes.end());
  const ClientHello hello = CheckClientHello({peer.hello.data(), peer.hello.size()});
  if (hello == ClientHello::kImpossible) Close(peer, "sent no ClientHello");
  if (hello != ClientHello::kWhole) return false;
  peer.connection.emplace(tls_, options_.limits, posix::NowMs());
  return true;
}

// Advances a connection as far as possible: computes, answers, writes, closes.
void DirectoryServer::Pump(Peer& peer) {
  PeerConnection& connection = *peer.connection;
  if (!Write(peer)) return;
  if (connection.state() == FrameConnection::State::kHandshake) {
    connection.ContinueHandshake(posix::NowMs());
  }
  const bool is_proved = !connection.device().empty();
  if (is_proved && !peer.session) OnProof(peer);
  while (connection.state() == FrameConnection::State::kAnswering &&
         connection.output().size() < kMostOutput) {
    const uint64_t now_ms = posix::NowMs();
    const PeerReply reply = directory_.Answer(&*peer.session, connection.request(), now_ms);
    connection.Respond(reply, peer.session->max_frame, now_ms);
  }
  if (!Write(peer)) return;
  if (connection.state() == FrameConnection::State::kClosed) {
    Close(peer, connection.close_reason());
  }
}

// A node has one connection.
void DirectoryServer::OnProof(Peer& peer) {
  const uint32_t node = numbers_.at(peer.connection->device());
  for (const auto& other : peers_) {
    if (other->session && other->session->node == node) Close(*other, "connected again");
  }
  peer.session.emplace();
  peer.session->node = node;
}

// Sends what the system takes at once. False if the peer is gone.
bool DirectoryServer::Write(Peer& peer) {
  while (peer.has_output()) {
    const ByteSpan output = peer.connection->output();
    const int sent = posix::SendNow(peer.socket, output);
    if (sent == 0) return true;
    if (sent < 0) {
      Close(peer, "left");
      return false;
    }
    peer.connection->Sent(static_cast<size_t>(sent));
    peer.moved_ms = posix::NowMs();
  }
  peer.moved_ms = posix::NowMs();
  return true;
}

// It is removed at the end of the turn.
void DirectoryServer::Close(Peer& peer, const std::string& why) {
  if (peer.is_closed) return;
  peer.is_closed = true;
  if (why.empty()) return;
  tell_(fmt::format("{}: {}", peer.session ? peer.connection->device() : "a stranger", why), true);
}

void DirectoryServer::OnTime() {
  const uint64_t now_ms = posix::NowMs();
  for (const auto& peer : peers_) {
    if (peer->is_closed) continue;
    if (!peer->connection) {
      if (now_ms >= peer->begin_ms + options_.limits.handshake_timeout_ms) {
        Close(*peer, "no ClientHello in time");
      }
      continue;
    }
    peer->connection->OnTime(now_ms);
    const bool is_stuck =
        peer->has_output() && now_ms >= peer->moved_ms + options_.limits.handshake_timeout_ms;
    if (is_stuck) Close(*peer, "takes no answers");
    const bool is_closed = peer->connection->state() == FrameConnection::State::kClosed;
    if (is_closed) Close(*peer, peer->connection->close_reason());
  }
}

}  // namespace sotto::server
