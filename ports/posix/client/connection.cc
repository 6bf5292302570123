#include "connection.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>
#include <utility>

#include "sotto/posix/port.h"
#include "sotto/posix/signals.h"

namespace sotto::posix {
namespace {

constexpr int kConnectTimeoutMs = 10000;
constexpr uint64_t kHandshakeTimeoutMs = 20000;
constexpr uint64_t kReplyTimeoutMs = 60000;

int TlsSend(void* context, const uint8_t* bytes, size_t size) {
  return static_cast<TcpStream*>(context)->Send({bytes, size});
}

int TlsReceive(void* context, uint8_t* out, size_t size) {
  return static_cast<TcpStream*>(context)->Receive({out, size});
}

}  // namespace

Connection::Connection(std::vector<HostPort> servers, const DeviceKey& key, uint32_t max_frame,
                       bool resumes)
    : servers_(std::move(servers)),
      key_(key),
      send_(kFrameHeaderSize + max_frame),
      receive_(max_frame),
      resumes_(resumes),
      link_({send_.data(), send_.size()}, {receive_.data(), receive_.size()}),
      stream_(StopDescriptor()) {}

// Why the last try found no server.
std::string Connection::WhyNoConnection() const {
  const std::string where = is_only_server() ? "" : AddressText(server()) + ": ";
  if (stream_.knows_host()) return where + stream_.error();
  return where + fmt::format(
                     "the name {} is not known here ({}); correct --server, or server in the kit, "
                     "or this machine's DNS",
                     server().host, stream_.error());
}

bool Connection::Connect() {
  error_.clear();
  for (size_t tried = 0; tried < servers_.size() && StopSignal() == 0; ++tried) {
    const HostPort& to = server();
    if (stream_.Connect(to.host.c_str(), to.port, kConnectTimeoutMs) == Status::kOk) return true;
    error_ += (tried > 0 ? "; " : "") + WhyNoConnection();
    GoOn();
  }
  return false;
}

bool Connection::Open() {
  if (!Connect()) return false;
  has_answered_ = false;
  const ByteSpan id(reinterpret_cast<const uint8_t*>(key_.device_id.data()), key_.device_id.size());
  TlsConfig config;
  if (resumes_) config.ticket = &ticket_;
  const TlsIo io = {TlsSend, TlsReceive, &stream_};
  const Status status = link_.Begin(TlsPort(), id, key_.secret, io, config);
  if (status != Status::kOk) {
    throw std::runtime_error(fmt::format("TLS cannot start: {}", StatusName(status)));
  }
  return true;
}

template <class Question, class Answer>
Status Connection::ExchangeAny(const Question& question, Answer* answer, uint64_t patience_ms) {
  const uint64_t begin_ms = NowMs();
  ticket_.Retire(SinceBootMs());
  if (!asked_ms_) asked_ms_ = begin_ms;
  for (;;) {
    Status status = link_.Exchange(question, answer);
    const uint64_t now_ms = NowMs();
    const uint64_t deadline_ms =
        *asked_ms_ + (is_authenticated() ? kReplyTimeoutMs : kHandshakeTimeoutMs);
    if (status == Status::kWouldBlock && now_ms >= deadline_ms) status = Status::kLinkLost;
    if (status != Status::kWouldBlock) {
      has_answered_ = has_answered_ || status == Status::kOk;
      asked_ms_.reset();
      return status;
    }
    const uint64_t until_ms = std::min(deadline_ms, begin_ms + patience_ms);
    if (now_ms >= until_ms || StopSignal() != 0) return status;
    stream_.Wait(link_.wants_write(), static_cast<int>(until_ms - now_ms));
  }
}

Status Connection::Exchange(const Request& request, Reply* reply, uint64_t patience_ms) {
  return ExchangeAny(request, reply, patience_ms);
}

Status Connection::Exchange(const PeerRequest& request, PeerReply* reply, uint64_t patience_ms) {
  return ExchangeAny(request, reply, patience_ms);
}

void Connection::Close() {
  asked_ms_.reset();
  if (is_open() && !has_answered_) GoOn();
  link_.Close();
  stream_.Close();
}

}  // namespace sotto::posix
