#include "net/connection.h"

#include <algorithm>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/peer_wire.h"
#include "sotto/wire.h"

namespace sotto::server {
namespace {

// The most bytes of a reply besides the part of a model, or of a publication, in it.
constexpr size_t kMostBesides = 512;

// A frame of this size has room for every kTrain and kRelease.
constexpr uint32_t kMaxFrameOfTrain = 512;

}  // namespace

void SaidHello::Keep(ByteSpan said, std::vector<uint8_t>* kept) {
  kept->assign(said.begin(), said.end());
}

void SaidHello::Remember(const Request& whole) {
  Keep(whole.model_digest, &digest_);
  Keep(whole.receipt, &receipt_);
  Keep(whole.held, &held_);
  max_frame_ = whole.max_frame;
  abilities_ = whole.abilities;
}

Status SaidHello::Complete(Request* later) {
  if (digest_.empty()) return Status::kWrongState;
  const bool has_digest = !later->model_digest.empty();
  const bool has_limit = later->max_frame != 0;
  if (has_digest && later->model_digest.size() != kSha256Size) return Status::kMalformed;
  if (has_limit && (later->max_frame < kMinMaxFrame || later->max_frame > kMaxMaxFrame)) {
    return Status::kMalformed;
  }
  if (has_digest) Keep(later->model_digest, &digest_);
  if (!later->receipt.empty()) Keep(later->receipt, &receipt_);
  if (!later->held.empty()) Keep(later->held, &held_);
  if (has_limit) max_frame_ = later->max_frame;
  if (later->abilities.largest_batch != 0)
    abilities_.largest_batch = later->abilities.largest_batch;
  if (later->abilities.features != 0) abilities_.features = later->abilities.features;
  later->version = kProtocolVersion;
  later->model_digest = model_digest();
  later->receipt = {receipt_.data(), receipt_.size()};
  later->held = {held_.data(), held_.size()};
  later->max_frame = max_frame_;
  later->abilities = abilities_;
  return Status::kOk;
}

void Connection::OnFrame(ByteSpan body) {
  if (DecodeRequest(body, &request_) != Status::kOk) request_ = {};
  says_features_ = false;
  if (request_.kind == Request::Kind::kHello) OnHello();
  const bool is_fetch = request_.kind == Request::Kind::kGetRelease;
  if (is_fetch && request_.model_digest.empty()) request_.model_digest = said_.model_digest();
}

void Connection::OnHello() {
  if (request_.version == kProtocolVersion) {
    said_.Remember(request_);
    says_features_ = (request_.abilities.features & kFeatureDifferences) != 0;
  } else if (request_.version == 0) {
    const Status status = said_.Complete(&request_);
    if (status == Status::kMalformed) request_ = {};
    if (status != Status::kOk) return;  // without a Hello before it: its version is refused
  } else {
    return;  // refused
  }
  max_frame_ = std::min(limits().max_frame, said_.max_frame());
}

// Leaves out what the client's frame has no room for, and what it can do without: the offer of a
// model. It then gets the model as float32.
void Connection::Fit(Reply* reply) const {
  uint8_t bytes[kFrameHeaderSize + kMaxFrameOfTrain];
  const auto fits = [&] {
    size_t size = 0;
    return EncodeReply(*reply, std::min(max_frame_, kMaxFrameOfTrain), bytes, &size) == Status::kOk;
  };
  const bool may_do_without = reply->kind == Reply::Kind::kTrain && !reply->model.check.empty();
  if (may_do_without && !fits()) reply->model = {};
}

void Connection::Respond(const Reply& reply, uint64_t now_ms) {
  if (state() != State::kAnswering) return;
  Reply fitting = reply;
  if (reply.kind == Reply::Kind::kModelChunk || reply.kind == Reply::Kind::kDescriptionChunk) {
    fitting.bytes = reply.bytes.first(
        std::min(reply.bytes.size(), static_cast<size_t>(MaxChunkBytes(max_frame_))));
  }
  fitting.max_frame = limits().max_frame;
  if (says_features_) fitting.server_features |= kServerRemembersHello | kServerNamesReleases;
  if (max_frame_ < kMaxFrameOfTrain) Fit(&fitting);
  const size_t most = std::min<size_t>(max_frame_, fitting.bytes.size() + kMostBesides);
  std::vector<uint8_t> bytes(kFrameHeaderSize + most);
  size_t size = 0;
  if (EncodeReply(fitting, max_frame_, {bytes.data(), bytes.size()}, &size) != Status::kOk) {
    Fail("the answer does not fit the client's frame");
    return;
  }
  request_ = {};
  RespondFrame({bytes.data(), size}, now_ms);
}

void Connection::SayLast(const Reply& reply, const std::string& why) {
  uint8_t bytes[kFrameHeaderSize + kMinMaxFrame];
  size_t size = 0;
  const bool fits = EncodeReply(reply, kMinMaxFrame, bytes, &size) == Status::kOk;
  SayLastFrame({bytes, fits ? size : 0}, why);
}

void PeerConnection::OnFrame(ByteSpan body) {
  if (DecodePeerRequest(body, &request_) != Status::kOk) request_ = {};
}

void PeerConnection::Respond(const PeerReply& reply, uint32_t max_frame, uint64_t now_ms) {
  if (state() != State::kAnswering) return;
  const size_t most = std::min<size_t>(max_frame, reply.bytes.size() + kMostBesides);
  std::vector<uint8_t> bytes(kFrameHeaderSize + most);
  size_t size = 0;
  if (EncodePeerReply(reply, max_frame, {bytes.data(), bytes.size()}, &size) != Status::kOk) {
    Fail("the answer does not fit the node's frame");
    return;
  }
  request_ = {};
  RespondFrame({bytes.data(), size}, now_ms);
  SecureWipe(bytes.data(), bytes.size());  // it may hold a pair key
}

}  // namespace sotto::server
