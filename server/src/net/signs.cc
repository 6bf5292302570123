// What the network has seen of a device, and the last words of a session: see loop.h. Part of
// sotto::server/net.
//
// A name is no proof. A handshake that fails says only that somebody has tried in a device's name.
// One that succeeds under a former key says that somebody holds that key: the server then says why
// it closes, and answers nothing else. Such a connection stays a stranger's in all limits.
//
// A device that connects while it has a session takes its place: the older one may be dead without
// knowing it. It gets last words all the same. A machine that reads them closes the connection, and
// so shows that two machines are alive with one key.
#include <algorithm>
#include <fmt/format.h>

#include "net/loop.h"
#include "sotto/keys.h"
#include "sotto/model/model_text.h"
#include "sotto/posix/sockets.h"

namespace sotto::server {
namespace {

constexpr size_t kRememberedDeadlines = 16;
constexpr size_t kMostGaveWay = 64;        // a whole fleet may connect anew at once
constexpr uint64_t kTakeoverMs = 600'000;  // a takeover after a longer rest counts as the first
constexpr uint32_t kFirstPauseMs = 500;
constexpr uint32_t kLastPauseMs = 30'000;
constexpr uint32_t kFormerPauseMs = 30'000;  // of a device that does not know these last words

int SocketOf(const uv_tcp_t& handle) {
  uv_os_fd_t socket = -1;
  (void)uv_fileno(reinterpret_cast<const uv_handle_t*>(&handle), &socket);
  return socket;
}

bool IsUpdate(const Request& request) {
  return request.kind == Request::Kind::kUpdateBegin || request.kind == Request::Kind::kUpdateChunk;
}

}  // namespace

std::string Server::Loop::TextOf(const Address& address) {
  char text[64] = {};
  const bool is_ipv4 = address[10] == 0xff && address[11] == 0xff;
  if (is_ipv4) {
    uv_inet_ntop(AF_INET, &address[12], text, sizeof(text));
    return text;
  }
  uv_inet_ntop(AF_INET6, address.data(), text, sizeof(text));
  return std::string(text) + "/64";
}

// The key under which the handshake succeeds, if the client holds one. A former key opens
// nothing.
Status Server::Loop::Session::FindKey(const Loop& loop, const std::string& name, Key* psk) {
  const DeviceRegistry& devices = *loop.devices_;
  const uint32_t index = devices.Find(name);
  if (former != nullptr && former->id != name) former = nullptr;
  if (former == nullptr && index == devices.size()) {
    former = std::shared_ptr<const FormerKey>(loop.former_, loop.former_->LastOfRevoked(name));
    if (former == nullptr) return Status::kPeerRefused;
  }
  claimed = name;
  return DeriveTlsKey(former != nullptr ? former->secret : devices[index].secret, psk);
}

// The same for a ticket, which a former key neither gets nor opens: the client then does a full
// handshake, and learns why.
Status Server::Loop::Session::FindCurrentKey(const Loop& loop, const std::string& name, Key* psk) {
  const DeviceRegistry& devices = *loop.devices_;
  const uint32_t index = devices.Find(name);
  if (former != nullptr || index == devices.size()) return Status::kPeerRefused;
  claimed = name;
  return DeriveTlsKey(devices[index].secret, psk);
}

// Of the session's device: the one that it has proved to be, or whose name it has said.
void Server::Loop::Sign(DeviceSign::Kind kind, const Client& client,
                        const std::string& text) const {
  const Session& session = *client.session;
  if (!events_.on_sign || session.claimed.empty()) return;
  DeviceSign sign;
  sign.kind = kind;
  sign.id = session.claimed;
  sign.text = text;
  sign.round = session.round;
  sign.from = TextOf(client.from);
  if (const std::optional<uint64_t> late_ms = LateMs(session)) sign.late_ms = *late_ms;
  if (kind == DeviceSign::Kind::kTakeover) {
    const auto newer = by_device_.find(session.device);
    if (newer != by_device_.end()) sign.other = TextOf(newer->second->from);
  }
  events_.on_sign(sign);
}

// What the answer that is about to be given, or held, says about the device.
void Server::Loop::SignAnswer(Client& client) {
  using Kind = DeviceSign::Kind;
  Session& session = *client.session;
  const Request& request = session.connection.request();
  const Reply& reply = session.reply;
  const bool holds = request.kind == Request::Kind::kHello && request.hold_ms > 0;
  if (holds && !session.holds) posix::WatchPeer(SocketOf(client.handle));
  session.holds = session.holds || holds;
  // One that fetches a model meanwhile still waits for work.
  if (request.kind == Request::Kind::kHello || IsUpdate(request)) {
    session.idle = holds && reply.kind == Reply::Kind::kWait;
  }
  if (request.kind == Request::Kind::kUpdateBegin) {
    session.round = request.round;
    session.attempt = request.attempt;
  }
  if (reply.kind == Reply::Kind::kTrain) {
    session.round = reply.task.round;
    session.attempt = reply.task.attempt;
    Sign(Kind::kTrains, client);
  } else if (reply.kind == Reply::Kind::kAck) {
    if (reply.complete) Sign(Kind::kUploaded, client);
  } else if (request.kind == Request::Kind::kHello && reply.kind == Reply::Kind::kError) {
    if (reply.code != ErrorCode::kModelMismatch || job_ == nullptr) return;
    const std::string text = DescribeOtherModel(request, session);
    if (!text.empty()) Sign(Kind::kOtherModel, client, text);
  } else if (request.kind == Request::Kind::kHello) {
    const std::string lacks = job_ == nullptr ? "" : job_->WhatLacks(request.abilities);
    Sign(lacks.empty() ? Kind::kWaits : Kind::kLacks, client, lacks);
  } else if (IsUpdate(request) && LateMs(session)) {
    Sign(Kind::kLate, client);
  }
}

// Of a Hello that kModelMismatch answers; empty: there is nothing to tell yet. A device that takes
// descriptions looks at the job's description first; then it has that model, or says what
// differs, in untrusted words. What it says at first may be of an earlier job.
std::string Server::Loop::DescribeOtherModel(const Request& hello, Session& session) const {
  const bool has_model = std::any_of(hello.model_digest.begin(), hello.model_digest.end(),
                                     [](uint8_t byte) { return byte != 0; });
  const std::string job = posix::DescribeModel(*job_->config().model);
  const bool is_first = std::exchange(session.mismatch, job) != job;
  if (is_first && (hello.abilities.features & kFeatureDescription) != 0) return "";
  if (!hello.differs.empty()) {
    return fmt::format("it says of the job's model {}: {}", job,
                       std::string(hello.differs.begin(), hello.differs.end()));
  }
  if (!has_model) return "";
  return fmt::format("it has {}, and the job trains {}", posix::DescribeModelOf(hello.model_digest),
                     job);
}

void Server::Loop::RememberDeadline() {
  const auto is_earlier_jobs = [&](const Deadline& of) {
    return of.round == job_->round() && of.attempt == job_->attempt();
  };
  deadlines_.erase(std::remove_if(deadlines_.begin(), deadlines_.end(), is_earlier_jobs),
                   deadlines_.end());
  deadlines_.push_back({job_->round(), job_->attempt(), deadline_ms_});
  if (deadlines_.size() > kRememberedDeadlines) deadlines_.pop_front();
}

// How long after the deadline of the attempt for which it announced its update; nothing: it is not
// over, or too long ago.
std::optional<uint64_t> Server::Loop::LateMs(const Session& session) const {
  for (const Deadline& of : deadlines_) {
    if (of.round != session.round || of.attempt != session.attempt) continue;
    if (now() > of.at_ms) return now() - of.at_ms;
  }
  return std::nullopt;
}

// Says the last words of a session and closes it.
void Server::Loop::Dismiss(Client& client, ErrorCode code, const char* why, uint32_t wait_ms) {
  Session& session = *client.session;
  held_.erase(client.id);
  session.held_until_ms = 0;
  if (session.working) {  // in the pool, which has its request
    Close(client, why);
    return;
  }
  Reply last;
  last.kind = Reply::Kind::kError;
  last.code = code;
  last.wait_ms = wait_ms;
  session.connection.SayLast(last, why);
  Pump(client);
}

// A newer connection of the device replaces this one. If two machines do this to each other again
// and again, the server makes them wait longer each time.
void Server::Loop::GiveWay(Client& older) {
  Takeovers& takeovers = takeovers_[older.session->device];
  if (now() - takeovers.last_ms > kTakeoverMs) takeovers.count = 0;
  takeovers.last_ms = now();
  const uint32_t pause_ms = std::min(kFirstPauseMs << std::min(takeovers.count, 6U), kLastPauseMs);
  ++takeovers.count;
  older.session->dismissed = !older.session->working;
  gave_way_.push_back(older.id);
  if (gave_way_.size() > kMostGaveWay) {
    if (Client* first = Find(gave_way_.front())) Close(*first);
    gave_way_.pop_front();
  }
  Dismiss(older, ErrorCode::kOtherMachine, "connected again", Jittered(pause_ms));
}

// A machine that is alive takes the last words, and then goes on with its request or closes the
// connection. One that had closed it before it connected again takes nothing more, however late its
// bytes come: its system refuses the words.
void Server::Loop::OnDismissedRead(Client& client, ssize_t got) {
  const bool is_alive = (got > 0 || got == UV_EOF) && posix::HasTakenAll(SocketOf(client.handle));
  if (is_alive && client.session->proved) {
    Sign(DeviceSign::Kind::kTakeover, client);
    Close(client);
  } else if (got < 0) {
    Close(client);
  }
}

// A device that waited on its connection cannot be asked until it comes again. One that polls says
// nothing by letting its connection go, and one that trains may: some boards answer no probe then,
// and how long a device trains must not decide whether it is asked.
void Server::Loop::OnEndOfSession(const Client& client) {
  const Session& session = *client.session;
  if (events_.on_device) events_.on_device(session.device, false, now() - session.heard_ms);
  if (job_ != nullptr && session.idle) job_->OnGone(session.device);
}

// A connection that has proved a former key: nothing that it says is read.
void Server::Loop::RefuseFormer(Client& client) {
  Sign(DeviceSign::Kind::kFormerKey, client);
  const bool is_revoked = client.session->former->is_revoked;
  client.session->dismissed = true;
  Dismiss(client, is_revoked ? ErrorCode::kKeyRevoked : ErrorCode::kKeyRotated,
          is_revoked ? "has the key of a revoked device" : "has a key that was replaced",
          kFormerPauseMs);
}

}  // namespace sotto::server
