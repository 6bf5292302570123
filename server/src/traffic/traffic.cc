#include "traffic/traffic.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "sotto/frame_link.h"
#include "sotto/posix/check.h"
#include "sotto/random.h"
#include "sotto/update_codec.h"
#include "sotto/wire.h"

namespace sotto::server {
namespace {

// A device's message with each field of the size that it has in a fleet.
struct TypicalBytes {
  std::vector<uint8_t> name = std::vector<uint8_t>(13, 'd');  // device-000001
  std::vector<uint8_t> digest = std::vector<uint8_t>(kSha256Size, 1);
  std::vector<uint8_t> receipt = std::vector<uint8_t>(kMaxReceiptSize - 1, 2);
  std::vector<uint8_t> check = std::vector<uint8_t>(8, 3);
  std::vector<uint8_t> id = std::vector<uint8_t>(kJobIdSize, 5);
  std::vector<uint8_t> nonce = std::vector<uint8_t>(kNonceSize, 6);
};

ByteSpan ViewOf(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

Request HelloOf(const TypicalBytes& typical, uint32_t max_frame) {
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.device_id = ViewOf(typical.name);
  hello.model_digest = ViewOf(typical.digest);
  hello.max_frame = max_frame;
  hello.receipt = ViewOf(typical.receipt);
  hello.abilities = {16, 2 * kFeatureClipByLayer - 1};
  hello.hold_ms = 25'000;
  return hello;
}

void RequireFits(Status status) {
  if (status == Status::kOk) return;
  throw std::invalid_argument(
      "a message of the protocol does not fit so small a frame; give a larger one");
}

// A message on a link: bytes of the sender and of the other side's answers, and turns of the link.
struct OnLink {
  double sent = 0;
  double answered = 0;
  double turns = 1;
};

OnLink OverLink(size_t bytes, const LinkShape& link) {
  if (link.link_frame == 0) return {static_cast<double>(bytes), 0, 1};
  constexpr double kAnswer = kFrameLinkHeader + 1;
  const double frames =
      std::ceil(static_cast<double>(bytes) / (link.link_frame - kFrameLinkHeader));
  const double turns = std::ceil(frames / link.window);
  return {static_cast<double>(bytes) + frames * kFrameLinkHeader, turns * kAnswer, turns};
}

// Chunks of at most `most` bytes, each in a separate exchange.
template <class Exchange>
Traffic InChunks(uint64_t size, uint32_t most, Exchange exchange) {
  Traffic sum;
  for (uint64_t offset = 0; offset < size; offset += most) {
    sum += exchange(static_cast<uint32_t>(offset),
                    static_cast<uint32_t>(std::min<uint64_t>(most, size - offset)));
  }
  return sum;
}

}  // namespace

Traffic& Traffic::operator+=(const Traffic& other) {
  up += other.up;
  down += other.down;
  turns += other.turns;
  return *this;
}

Traffic HandshakeOver(const Traffic& handshake, const LinkShape& link) {
  const auto flight = [&](double bytes) {
    return OverLink(static_cast<size_t>(std::ceil(bytes / handshake.turns)), link);
  };
  const OnLink there = flight(handshake.up);
  const OnLink back = flight(handshake.down);
  if (link.link_frame == 0) return handshake;
  return {handshake.turns * (there.sent + back.answered),
          handshake.turns * (back.sent + there.answered),
          handshake.turns * (there.turns + back.turns - 1)};
}

Traffic TrafficOf(const Request& request, const Reply& reply, const LinkShape& link) {
  std::vector<uint8_t> frame(kFrameHeaderSize + link.max_frame);
  const MutableByteSpan out(frame.data(), frame.size());
  size_t up = 0;
  size_t down = 0;
  RequireFits(EncodeRequest(request, link.max_frame, out, &up));
  RequireFits(EncodeReply(reply, link.max_frame, out, &down));
  const OnLink there = OverLink(up + kRecordOverhead, link);
  const OnLink back = OverLink(down + kRecordOverhead, link);
  // The last answer of the link is not waited for: the reply, or the next request, comes behind it.
  return {there.sent + back.answered, back.sent + there.answered, there.turns + back.turns - 1};
}

Traffic TrafficOfDownload(uint64_t size, uint32_t code, const LinkShape& link) {
  const std::vector<uint8_t> bytes(MaxChunkBytes(link.max_frame));
  return InChunks(size, MaxChunkBytes(link.max_frame), [&](uint32_t offset, uint32_t count) {
    Request get;
    get.kind = Request::Kind::kGetModel;
    get.offset = offset;
    get.code = code;
    Reply chunk;
    chunk.kind = Reply::Kind::kModelChunk;
    chunk.bytes = ViewOf(bytes).first(count);
    return TrafficOf(get, chunk, link);
  });
}

Traffic TrafficOfUpload(uint64_t size, const LinkShape& link) {
  const TypicalBytes typical;
  Request begin;
  begin.kind = Request::Kind::kUpdateBegin;
  begin.job_id = ViewOf(typical.id);
  begin.nonce = ViewOf(typical.nonce);
  begin.round = begin.attempt = 1;
  Reply ack;
  ack.kind = Reply::Kind::kAck;
  ack.salt.is_there = true;
  Traffic sum = TrafficOf(begin, ack, link);
  const std::vector<uint8_t> bytes(MaxChunkBytes(link.max_frame));
  sum += InChunks(size, MaxChunkBytes(link.max_frame), [&](uint32_t offset, uint32_t count) {
    Request chunk;
    chunk.kind = Request::Kind::kUpdateChunk;
    chunk.offset = offset;
    chunk.bytes = ViewOf(bytes).first(count);
    chunk.last = offset + count == size;
    Reply held;
    held.kind = Reply::Kind::kAck;
    held.offset = offset + count;
    held.complete = chunk.last;
    return TrafficOf(chunk, held, link);
  });
  return sum;
}

Traffic Participation::Total() const {
  Traffic sum = task;
  sum += model;
  sum += update;
  return sum;
}

Participation ParticipationIn(const JobConfig& job, Offer offer, double download, double upload,
                              const LinkShape& link) {
  const TypicalBytes typical;
  Request hello = HelloOf(typical, link.max_frame);
  Reply train;
  train.kind = Reply::Kind::kTrain;
  train.task = job.TaskFor(1, job.training.clip_l2);
  train.max_frame = 16384;
  train.receipt = ViewOf(typical.receipt);
  train.report_ms = job.process.report_after_ms;
  const auto size = static_cast<uint32_t>(std::llround(download));
  if (offer != Offer::kNone) {
    hello.held = ViewOf(typical.check);
    train.server_features = kServerRemembersHello;
    train.model = {ViewOf(typical.check),
                   offer == Offer::kCode ? kMostGrid : 0,
                   offer == Offer::kCode ? ModelBase::kHeld : ModelBase::kZeros,
                   {},
                   size,
                   UINT32_MAX};
  }
  return {TrafficOf(hello, train, link),
          TrafficOfDownload(size, offer != Offer::kNone ? UINT32_MAX : 0, link),
          TrafficOfUpload(static_cast<uint64_t>(std::llround(upload)), link)};
}

Traffic IdlePoll(const LinkShape& link) {
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.version = 0;
  hello.max_frame = 0;
  hello.hold_ms = 25'000;
  Reply wait;
  wait.kind = Reply::Kind::kWait;
  wait.state = WaitState::kRounds;  // at once, behind a Hello that was held
  return TrafficOf(hello, wait, link);
}

// Of a large net a part is encoded.
double UpdateBytes(const JobConfig& job) {
  constexpr uint32_t kMostEncoded = 1 << 18;
  const TrainTask task = job.TaskFor(0, job.training.clip_l2);
  const uint32_t all = job.model->parameters;
  if (task.format.coding == Coding::kFloat32) return 4.0 * all;
  const uint32_t count = std::min(all, kMostEncoded);
  RandomStream random(Key{{1}}, 0);
  std::vector<float> update(count);
  for (float& value : update) {
    value = task.training.clip_l2 / std::sqrt(static_cast<float>(all)) *
            (random.Below(2) == 0 ? 1.0F : -1.0F);
  }
  UpdateEncoder encoder;
  posix::Check(encoder.Begin(Key{{2}}, task.format, {update.data(), update.size()},
                             task.training.clip_l2, task.quantizer_scale),
               "the encoder");
  std::vector<uint8_t> bytes(MaxUpdateSize(count, task.format));
  size_t written = 0;
  posix::Check(encoder.Read({bytes.data(), bytes.size()}, &written), "the encoder");
  return static_cast<double>(written) * all / count;
}

}  // namespace sotto::server
