#include "neighbour_server.h"

#include <algorithm>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <stdexcept>
#include <unistd.h>
#include <utility>

#include "sotto/peer_wire.h"
#include "sotto/posix/port.h"
#include "sotto/posix/sockets.h"

namespace sotto::posix {
namespace {

constexpr uint64_t kNeighbourTimeoutMs = 10000;
constexpr uint64_t kRequestTimeoutMs = 30000;
constexpr uint64_t kIdleMs = 1000;  // from then on a neighbour makes room for another one
constexpr int kTickMs = 1000;       // how often deadlines are looked at

int SocketSend(void* context, const uint8_t* bytes, size_t size) {
  return SendNow(*static_cast<int*>(context), {bytes, size});
}

int SocketReceive(void* context, uint8_t* out, size_t size) {
  return ReceiveNow(*static_cast<int*>(context), {out, size});
}

PeerReply FinalError(ErrorCode code) {
  PeerReply reply;
  reply.kind = PeerReply::Kind::kError;
  reply.code = code;
  reply.final = true;
  return reply;
}

bool IsSamePublication(const PeerHead& a, const PeerHead& b) {
  return a.version == b.version && std::equal(a.digest, a.digest + kSha256Size, b.digest);
}

}  // namespace

struct NeighbourServer::Neighbour {
  Neighbour(int the_socket, const NetworkAddress& address, uint32_t most)
      : socket(the_socket),
        from(address),
        in(most),
        out(kFrameHeaderSize + most),
        reader({in.data(), in.size()}),
        deadline_ms(NowMs() + kNeighbourTimeoutMs) {}
  ~Neighbour() { CloseSocket(socket); }

  int socket;
  NetworkAddress from;
  std::vector<uint8_t> in;
  std::vector<uint8_t> out;
  size_t size = 0;  // of the answer in `out`
  size_t sent = 0;
  FrameReader reader;
  TlsSession tls;
  bool is_shaken = false;    // the handshake is done
  bool is_replaced = false;  // by a newer connection
  bool has_greeted = false;
  bool may_have_more = false;         // requests that wait for the others' answers
  uint32_t max_frame = kMinMaxFrame;  // of both
  uint64_t deadline_ms;
};

NeighbourServer::NeighbourServer(const HostPort& where, ByteSpan job_id, uint32_t max_frame)
    : acceptor_(where.host, where.port),
      job_id_(job_id.begin(), job_id.end()),
      max_frame_(max_frame) {
  const Status status = tls_.InitServer(SystemPort(), {FindKey, this});
  if (status != Status::kOk || pipe2(wake_, O_CLOEXEC) != 0) {
    throw std::runtime_error(fmt::format("serving neighbours cannot start: {}",
                                         status == Status::kOk ? "no pipe" : StatusName(status)));
  }
  thread_ = std::thread([this] { Run(); });
}

NeighbourServer::~NeighbourServer() {
  close(wake_[1]);
  thread_.join();
  close(wake_[0]);
}

void NeighbourServer::SetRoster(uint32_t node, uint32_t nodes, std::map<std::string, Key> keys) {
  const std::lock_guard<std::mutex> lock(mutex_);
  node_ = node;
  nodes_ = nodes;
  keys_ = std::move(keys);
}

void NeighbourServer::SetPublication(const PeerHead& name, ByteSpan bytes) {
  auto publication = std::make_shared<Publication>();
  publication->name = name;
  publication->bytes.assign(bytes.begin(), bytes.end());
  const std::lock_guard<std::mutex> lock(mutex_);
  publication_ = std::move(publication);
}

// The look-up in a map takes about as long for an unknown name as for a known one.
Status NeighbourServer::FindKey(void* context, ByteSpan identity, Key* psk) {
  auto& self = *static_cast<NeighbourServer*>(context);
  const std::string name(identity.begin(), identity.end());
  const std::lock_guard<std::mutex> lock(self.mutex_);
  const auto found = self.keys_.find(name);
  if (found == self.keys_.end()) return Status::kMismatch;
  return DeriveTlsKey(found->second, psk);
}

void NeighbourServer::Run() {
  for (;;) {
    pollfd wake = {wake_[0], POLLIN, 0};
    if (poll(&wake, 1, 0) > 0) break;
    Poll();
  }
  neighbours_.clear();
}

// Waits for any of the sockets, then goes on with all of them.
void NeighbourServer::Poll() {
  std::vector<pollfd> waits = {{wake_[0], POLLIN, 0}, {acceptor_.socket(), POLLIN, 0}};
  int patience_ms = kTickMs;
  for (const auto& neighbour : neighbours_) {
    if (neighbour->may_have_more) patience_ms = 0;
    const bool sends = neighbour->tls.wants_write() || neighbour->sent < neighbour->size;
    waits.push_back({neighbour->socket, static_cast<short>(sends ? POLLIN | POLLOUT : POLLIN), 0});
  }
  (void)poll(waits.data(), waits.size(), patience_ms);
  const uint64_t now_ms = NowMs();
  size_t at = 2;
  neighbours_.remove_if([&](const std::unique_ptr<Neighbour>& neighbour) {
    const bool is_ready = waits[at++].revents != 0 || neighbour->may_have_more;
    return now_ms >= neighbour->deadline_ms || (is_ready && !Advance(*neighbour));
  });
  neighbours_.remove_if([](const auto& neighbour) { return neighbour->is_replaced; });
  if (waits[1].revents != 0) Accept();
}

// The oldest stranger of the address that has the most of them: a flood from one address closes its
// own connections. Without strangers the neighbour that is idle longest. The end: there is none.
NeighbourServer::Place NeighbourServer::OneToClose() {
  auto stranger = neighbours_.end();
  auto idle = neighbours_.end();
  uint64_t idle_until_ms = NowMs() + kRequestTimeoutMs - kIdleMs;
  std::ptrdiff_t most = 0;
  for (auto n = neighbours_.begin(); n != neighbours_.end(); ++n) {
    if ((*n)->is_shaken) {
      if ((*n)->deadline_ms > idle_until_ms || (*n)->sent < (*n)->size) continue;
      idle_until_ms = (*n)->deadline_ms - 1;
      idle = n;
      continue;
    }
    const std::ptrdiff_t count = std::count_if(
        neighbours_.begin(), neighbours_.end(),
        [&](const auto& other) { return !other->is_shaken && other->from == (*n)->from; });
    if (count <= most) continue;
    most = count;
    stranger = n;
  }
  return most > 0 ? stranger : idle;
}

// Returns false if every connection belongs to a neighbour that is busy.
bool NeighbourServer::MakeRoom() {
  if (neighbours_.size() < kMostConnections) return true;
  const Place one = OneToClose();
  if (one == neighbours_.end()) return false;
  neighbours_.erase(one);
  return true;
}

void NeighbourServer::Accept() {
  (void)acceptor_.Accept(1, [this](int socket, const IpAddress& from) {
    auto neighbour = std::make_unique<Neighbour>(socket, NetworkOf(from), max_frame_);
    if (!MakeRoom()) return true;  // and closes it
    const TlsIo io = {SocketSend, SocketReceive, &neighbour->socket};
    if (neighbour->tls.Start(&tls_, io) == Status::kOk) neighbours_.push_back(std::move(neighbour));
    return true;
  });
}

void NeighbourServer::CloseOthersOf(const Neighbour& neighbour) {
  const ByteSpan name = neighbour.tls.peer_identity();
  for (const auto& other : neighbours_) {
    const ByteSpan others = other->tls.peer_identity();
    const bool is_same = other->is_shaken && other.get() != &neighbour &&
                         std::equal(name.begin(), name.end(), others.begin(), others.end());
    if (is_same) other->is_replaced = true;
  }
}

// Goes on until the link blocks, or after an answer, so that one neighbour's requests keep no other
// waiting. False: it is to be closed.
bool NeighbourServer::Advance(Neighbour& n) {
  for (n.may_have_more = false; !n.may_have_more;) {
    Status status = Status::kOk;
    if (!n.is_shaken) {
      status = n.tls.Handshake();
      if (status == Status::kOk) {
        n.is_shaken = true;
        CloseOthersOf(n);
        n.deadline_ms = NowMs() + kRequestTimeoutMs;
      }
    } else if (n.sent < n.size) {
      size_t written = 0;
      status = n.tls.Write({n.out.data() + n.sent, n.size - n.sent}, &written);
      if (status == Status::kOk) n.sent += written;
      n.may_have_more = n.sent == n.size;
    } else {
      size_t got = 0;
      status = n.tls.Read(n.reader.missing(), &got);
      if (status == Status::kOk && (got == 0 || n.reader.Received(got) != Status::kOk))
        return false;
      if (n.reader.complete() && !Answer(n)) return false;
    }
    if (status == Status::kWouldBlock) return true;
    if (status != Status::kOk) {
      (void)n.tls.Close();  // the alert that says why
      return false;
    }
  }
  return true;
}

bool NeighbourServer::Answer(Neighbour& n) {
  PeerRequest request;
  if (DecodePeerRequest(n.reader.body(), &request) != Status::kOk) return false;
  std::shared_ptr<const Publication> held;  // of the reply's bytes
  const PeerReply reply = ReplyTo(n, request, &held);
  const Status status = EncodePeerReply(reply, n.max_frame, {n.out.data(), n.out.size()}, &n.size);
  n.sent = 0;
  n.reader.Next();
  n.deadline_ms = NowMs() + kRequestTimeoutMs;
  return status == Status::kOk;
}

PeerReply NeighbourServer::ReplyTo(Neighbour& n, const PeerRequest& request,
                                   std::shared_ptr<const Publication>* held) {
  if (request.kind == PeerRequest::Kind::kGreet) return Greeting(n, request);
  const bool is_get = request.kind == PeerRequest::Kind::kGetPublication;
  if (!is_get || !n.has_greeted) return FinalError(ErrorCode::kMalformed);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    *held = publication_;
  }
  const bool is_held = *held && IsSamePublication((*held)->name, request.publication);
  if (!is_held) return FinalError(ErrorCode::kWrongAttempt);
  const std::vector<uint8_t>& bytes = (*held)->bytes;
  if (request.offset >= bytes.size()) return FinalError(ErrorCode::kMalformed);
  const size_t rest = bytes.size() - request.offset;
  const size_t size = std::min<size_t>(rest, MaxPublicationChunkBytes(n.max_frame));
  if (size == rest) ++served_;
  PeerReply reply;
  reply.kind = PeerReply::Kind::kChunk;
  reply.bytes = {bytes.data() + request.offset, size};
  return reply;
}

PeerReply NeighbourServer::Greeting(Neighbour& n, const PeerRequest& request) {
  if (request.version != kPeerProtocolVersion) return FinalError(ErrorCode::kVersion);
  if (!std::equal(job_id_.begin(), job_id_.end(), request.job_id.begin(), request.job_id.end())) {
    return FinalError(ErrorCode::kWrongAttempt);
  }
  n.has_greeted = true;
  n.max_frame = std::min(max_frame_, request.max_frame);
  PeerReply reply;
  reply.kind = PeerReply::Kind::kWelcome;
  reply.max_frame = max_frame_;
  const std::lock_guard<std::mutex> lock(mutex_);
  reply.node = node_;
  reply.nodes = nodes_;
  return reply;
}

}  // namespace sotto::posix
