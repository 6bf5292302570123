// Messages as the last release wrote them: they must be read as what they meant then, field by
// field. The file of a release never changes (tests/vectors/frozen). A later release adds its
// messages in another file, and keeps this test.
#include <algorithm>
#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sotto/messages.h"
#include "sotto/peer_messages.h"
#include "sotto/peer_wire.h"
#include "sotto/wire.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

constexpr char kFrozenFile[] = SOTTO_VECTORS "/frozen/0.2.0/wire.txt";
constexpr uint32_t kFrozenFrame = 512;

std::vector<uint8_t> Rising(uint8_t first, size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(first + i);
  return bytes;
}

// What the byte fields of all messages point into.
const std::vector<uint8_t> kFrozenJob = Rising(0x10, kJobIdSize);
const std::vector<uint8_t> kFrozenDigest = Rising(0x40, kSha256Size);
const std::vector<uint8_t> kFrozenNonce = Rising(0x80, kNonceSize);
const std::vector<uint8_t> kFrozenCheck = Rising(0xa0, kMaxModelCheckSize);
const std::vector<uint8_t> kFrozenKey = Rising(0xb0, sizeof(Key::bytes));
const std::vector<uint8_t> kFrozenBytes = Rising(0xd0, 12);
const std::vector<uint8_t> kFrozenEdges = {0, 0, 0x80, 0x3e, 0, 0, 0, 0x3f};  // 0.25, 0.5
const std::string kFrozenName = "board-7";
const std::string kFrozenWords = "epsilon 6.000 at delta 1e-05";
const std::string kFrozenAddress = "node.example:7178";

template <typename Message>
using Named = std::vector<std::pair<std::string, Message>>;

template <typename Message>
Message Of(typename Message::Kind kind) {
  Message message;
  message.kind = kind;
  return message;
}

Named<Request> FrozenRequests() {
  using Kind = Request::Kind;
  Request hello = Of<Request>(Kind::kHello);
  hello.device_id = View(kFrozenName);
  hello.model_digest = View(kFrozenDigest);
  hello.max_frame = 510;
  hello.receipt = View(kFrozenBytes);
  hello.abilities = {64, kFeatureMomentum | kFeatureSalt | kFeatureErrors};
  hello.hold_ms = 30000;
  hello.differs = View(kFrozenWords);
  hello.held = View(kFrozenCheck);
  Request later_hello = Of<Request>(Kind::kHello);
  later_hello.version = 0;
  later_hello.max_frame = 0;
  later_hello.hold_ms = 20000;
  Request model = Of<Request>(Kind::kGetModel);
  model.code = 0x01020304;
  model.offset = 4096;
  Request begin = Of<Request>(Kind::kUpdateBegin);
  begin.round = 3;
  begin.attempt = 2;
  begin.job_id = View(kFrozenJob);
  begin.nonce = View(kFrozenNonce);
  begin.coding = Coding::kRange;
  begin.clip_bit_q20 = 1 << 20;
  begin.accuracy_q20 = 1 << 19;
  Request private_begin = begin;
  private_begin.clip_bit_q20 = private_begin.accuracy_q20 = 0;
  private_begin.private_noise_q20 = 1 << 18;
  Request chunk = Of<Request>(Kind::kUpdateChunk);
  chunk.offset = 64;
  chunk.bytes = View(kFrozenBytes);
  chunk.last = true;
  Request description = Of<Request>(Kind::kGetDescription);
  description.offset = 128;
  Request release = Of<Request>(Kind::kGetRelease);
  release.model_digest = View(kFrozenDigest);
  release.held = View(kFrozenCheck);
  return {{"hello", hello},
          {"later-hello", later_hello},
          {"get-model", model},
          {"update-begin", begin},
          {"private-begin", private_begin},
          {"update-chunk", chunk},
          {"get-description", description},
          {"get-release", release}};
}

ModelOffer FrozenOffer() {
  ModelOffer offer;
  offer.check = View(kFrozenCheck);
  offer.grid = 9;
  offer.base = ModelBase::kInitial;
  offer.weights_key = View(kFrozenKey);
  offer.size = 4000;
  offer.code = 0x01020304;
  return offer;
}

Named<Reply> FrozenReplies() {
  using Kind = Reply::Kind;
  Reply wait = Of<Reply>(Kind::kWait);
  wait.wait_ms = 5000;
  wait.state = WaitState::kPaused;
  wait.server_features = kServerRemembersHello | kServerNamesReleases;
  wait.release = 7;
  Reply train = Of<Reply>(Kind::kTrain);
  std::copy(kFrozenJob.begin(), kFrozenJob.end(), train.task.job_id);
  train.task.round = 3;
  train.task.attempt = 2;
  train.task.format.coding = Coding::kRange;
  train.task.format.padding = 32;
  train.task.quantizer_scale = 0.5f;
  train.task.training.local_epochs = 2;
  train.task.training.batch_size = 16;
  train.task.training.learning_rate = 0.25f;
  train.task.training.weight_decay = 0.125f;
  train.task.training.clip_l2 = 0.75f;
  train.task.training.clipping = Clipping::kAtEnd;
  train.task.training.momentum = 0.5f;
  train.task.training.local_steps = 40;
  train.task.training.rate_power = RatePower::kHalf;
  train.task.training.rate_first = 10;
  train.task.training.gradient_clip = 2.0f;
  train.task.training.gradient_clip_of = GradientClipOf::kSample;
  train.task.training.proximal = 0.0625f;
  train.task.training.clip_by_layer = ClipByLayer::kSize;
  train.task.clip_bit_q20 = 1 << 20;
  train.task.accuracy_q20 = 1 << 19;
  train.max_frame = 510;
  train.receipt = View(kFrozenBytes);
  train.report_ms = 60000;
  train.model = FrozenOffer();
  Reply measure = Of<Reply>(Kind::kTrain);
  measure.task.quantizer_scale = 0.5f;
  measure.task.format.length = 256;
  measure.task.error_edges = ErrorEdges(View(kFrozenEdges));
  Reply noisy = measure;
  noisy.task.format.length = 0;
  noisy.task.error_edges = ErrorEdges();
  noisy.task.private_noise_q20 = 1 << 20;
  Reply model = Of<Reply>(Kind::kModelChunk);
  model.bytes = View(kFrozenBytes);
  Reply ack = Of<Reply>(Kind::kAck);
  ack.offset = 76;
  ack.complete = true;
  ack.salt.is_there = true;
  std::copy_n(kFrozenKey.begin(), kSaltSize, ack.salt.bytes);
  Reply error = Of<Reply>(Kind::kError);
  error.code = ErrorCode::kModelMismatch;
  error.final = true;
  error.wait_ms = 1000;
  error.bytes = View(kFrozenName);
  Reply description = Of<Reply>(Kind::kDescriptionChunk);
  description.bytes = View(kFrozenBytes);
  description.size = 300;
  Reply release = Of<Reply>(Kind::kRelease);
  release.model = FrozenOffer();
  release.job_id = View(kFrozenJob);
  release.rounds = 40;
  release.claims = View(kFrozenWords);
  release.threshold = 0.375f;
  release.final = true;
  return {{"wait", wait},      {"train", train}, {"measure", measure}, {"private-noise", noisy},
          {"chunk", model},    {"ack", ack},     {"error", error},     {"description", description},
          {"release", release}};
}

PeerHead FrozenHead() {
  PeerHead head;
  head.version = 5;
  head.publisher = 2;
  head.size = 700;
  std::copy(kFrozenDigest.begin(), kFrozenDigest.end(), head.digest);
  return head;
}

Named<PeerRequest> FrozenPeerRequests() {
  using Kind = PeerRequest::Kind;
  PeerRequest join = Of<PeerRequest>(Kind::kJoin);
  join.job_id = View(kFrozenJob);
  join.max_frame = 510;
  join.address = View(kFrozenAddress);
  join.has_public_policy = false;
  PeerRequest lease = Of<PeerRequest>(Kind::kLease);
  lease.step = 3;
  PeerRequest release = Of<PeerRequest>(Kind::kRelease);
  release.fence = 11;
  PeerRequest commit = Of<PeerRequest>(Kind::kCommit);
  commit.publication = FrozenHead();
  commit.previous = View(kFrozenDigest);
  commit.fence = 11;
  PeerRequest finished = Of<PeerRequest>(Kind::kFinished);
  PeerRequest entry = Of<PeerRequest>(Kind::kRosterEntry);
  entry.node = 2;
  PeerRequest get = Of<PeerRequest>(Kind::kGetPublication);
  get.publication = FrozenHead();
  get.offset = 100;
  PeerRequest stage = Of<PeerRequest>(Kind::kStage);
  stage.publication = FrozenHead();
  stage.offset = 100;
  stage.bytes = View(kFrozenBytes);
  PeerRequest greet = Of<PeerRequest>(Kind::kGreet);
  greet.job_id = View(kFrozenJob);
  greet.max_frame = 510;
  return {{"join", join},           {"lease", lease},       {"release", release},
          {"commit", commit},       {"finished", finished}, {"roster-entry", entry},
          {"get-publication", get}, {"stage", stage},       {"greet", greet}};
}

Named<PeerReply> FrozenPeerReplies() {
  using Kind = PeerReply::Kind;
  PeerReply welcome = Of<PeerReply>(Kind::kWelcome);
  welcome.node = 2;
  welcome.max_frame = 510;
  welcome.nodes = 4;
  welcome.has_relay = true;
  welcome.head = FrozenHead();
  PeerReply granted = Of<PeerReply>(Kind::kGranted);
  granted.head = FrozenHead();
  granted.parent = FrozenHead();
  granted.parent.version = 4;
  granted.fence = 11;
  granted.wait_ms = 5000;
  PeerReply wait = Of<PeerReply>(Kind::kWait);
  wait.wait_ms = 5000;
  PeerReply chunk = Of<PeerReply>(Kind::kChunk);
  chunk.bytes = View(kFrozenBytes);
  PeerReply staged = Of<PeerReply>(Kind::kStaged);
  staged.offset = 112;
  PeerReply done = Of<PeerReply>(Kind::kDone);
  done.head = FrozenHead();
  done.accepted = true;
  PeerReply entry = Of<PeerReply>(Kind::kEntry);
  entry.address = View(kFrozenAddress);
  entry.device_id = View(kFrozenName);
  std::copy(kFrozenKey.begin(), kFrozenKey.end(), entry.pair_key.bytes);
  PeerReply error = Of<PeerReply>(Kind::kError);
  error.code = ErrorCode::kBusy;
  error.wait_ms = 1000;
  return {{"welcome", welcome}, {"granted", granted}, {"wait", wait},   {"chunk", chunk},
          {"staged", staged},   {"done", done},       {"entry", entry}, {"error", error}};
}

// Name and hexadecimal body of each message of a kind, "request hello 0a..." a line.
std::map<std::string, std::string> FrozenLines(const std::string& kind) {
  std::ifstream file(kFrozenFile);
  std::map<std::string, std::string> lines;
  std::string of, name, hex;
  while (file >> of >> name >> hex) {
    if (of == kind) lines[name] = hex;
  }
  return lines;
}

template <typename Message, typename Encode, typename Decode>
void ExpectFrozen(const std::string& kind, const Named<Message>& messages, Encode encode,
                  Decode decode) {
  const auto body_of = [&](const Message& message) {
    std::vector<uint8_t> frame(kFrameHeaderSize + kFrozenFrame);
    size_t size = 0;
    EXPECT_EQ(encode(message, kFrozenFrame, {frame.data(), frame.size()}, &size), Status::kOk);
    return ToHex(View(frame).first(size).subspan(kFrameHeaderSize));
  };
  const std::map<std::string, std::string> lines = FrozenLines(kind);
  EXPECT_EQ(lines.size(), messages.size()) << kFrozenFile;
  for (const auto& [name, message] : messages) {
    SCOPED_TRACE(kind + " " + name);
    const auto line = lines.find(name);
    if (line == lines.end()) {
      ADD_FAILURE() << "the file lacks\n" << kind << ' ' << name << ' ' << body_of(message);
      continue;
    }
    // Today's program writes this message as 0.2.0 did, so the old bytes have its fields' values.
    EXPECT_EQ(body_of(message), line->second);
    const std::vector<uint8_t> body = FromHex(line->second);
    Message read;
    ASSERT_EQ(decode(View(body), &read), Status::kOk);
    EXPECT_EQ(read.kind, message.kind);
    EXPECT_EQ(body_of(read), line->second) << "something is lost in reading";
  }
}

TEST(FrozenWireTest, RequestsOf020AreReadAsTheyWere) {
  ExpectFrozen("request", FrozenRequests(), EncodeRequest, DecodeRequest);
}

TEST(FrozenWireTest, RepliesOf020AreReadAsTheyWere) {
  ExpectFrozen("reply", FrozenReplies(), EncodeReply, DecodeReply);
}

TEST(FrozenWireTest, RequestsOfPeersOf020AreReadAsTheyWere) {
  ExpectFrozen("peer-request", FrozenPeerRequests(), EncodePeerRequest, DecodePeerRequest);
}

TEST(FrozenWireTest, RepliesOfPeersOf020AreReadAsTheyWere) {
  ExpectFrozen("peer-reply", FrozenPeerReplies(), EncodePeerReply, DecodePeerReply);
}

TEST(FrozenWireTest, VersionsAreThoseOf020) {
  // A version that rises makes every device in the field ask for a firmware: a release says so.
  EXPECT_EQ(kProtocolVersion, 1u);
  EXPECT_EQ(kPeerProtocolVersion, 1u);
}

}  // namespace
}  // namespace sotto
