// Messages are the same after encoding and decoding; a message beyond its limits is not encoded.
#include "sotto/wire.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "unit/sdk/hex.h"
#include "unit/sdk/wire_messages.h"

namespace sotto {
namespace {

TEST(Wire, EveryMessageReturnsAtItsLimitsAndInTheSmallestFrame) {
  for (const uint32_t max_frame : {kMinMaxFrame, kDefaultMaxFrame, kMaxMaxFrame}) {
    for (const Request& request : Requests(max_frame)) {
      if (request.kind != Request::Kind::kNone) ExpectRoundTrip(request, max_frame);
    }
    for (const Reply& reply : Replies(max_frame)) ExpectRoundTrip(reply, max_frame);
  }
}

TEST(Wire, EveryErrorCodeReturnsAndHasAName) {
  Reply error = Make(Reply::Kind::kError);
  for (uint8_t code = 0; code <= static_cast<uint8_t>(ErrorCode::kOtherMachine); ++code) {
    error.code = static_cast<ErrorCode>(code);
    ExpectRoundTrip(error, kMinMaxFrame);
    EXPECT_EQ(ErrorCodeName(error.code)[0], 'k');
  }
  EXPECT_STREQ(ErrorCodeName(static_cast<ErrorCode>(200)), "unknown error code");
}

TEST(Wire, EveryStateOfAWaitReturnsAndALaterOneIsUnknown) {
  Reply wait = Make(Reply::Kind::kWait);
  for (uint8_t state = 0; state <= static_cast<uint8_t>(WaitState::kDevices); ++state) {
    wait.state = static_cast<WaitState>(state);
    ExpectRoundTrip(wait, kMinMaxFrame);
  }
  std::vector<uint8_t> body = BodyOf(Frame(wait));
  ASSERT_EQ(body.back(), static_cast<uint8_t>(WaitState::kDevices));
  body.back() = 100;
  ASSERT_EQ(DecodeReply(View(body), &wait), Status::kOk);
  EXPECT_EQ(wait.state, WaitState::kUnknown);
}

TEST(Wire, ADifferenceReturnsInAnUsualFrame) {
  ExpectRoundTrip(HelloThatDiffers(), kDefaultMaxFrame);
}

TEST(Wire, PrivateNoiseReturnsAtItsLimits) {
  for (const uint32_t noise : {0u, 1u, kMaxPrivateNoiseQ20}) {
    Reply train = TrainAtItsLimits();
    train.task.format.dither = DitherKind::kGaussian;
    train.task.clip_bit_q20 = 0;
    train.task.private_noise_q20 = noise;
    if (noise != 0) train.task.format.length = 0;
    ExpectRoundTrip(train, kMinMaxFrame);
    Request begin = UpdateBeginAtItsLimits();
    begin.clip_bit_q20 = 0;
    begin.private_noise_q20 = noise;
    ExpectRoundTrip(begin, kMinMaxFrame);
  }
}

TEST(Wire, PrivateNoiseOutOfItsLimitsIsRefused) {
  std::vector<uint8_t> out(1000);
  size_t size = 0;
  Reply train = TrainAtItsLimits();
  train.task.private_noise_q20 = 1;
  train.task.clip_bit_q20 = 0;
  const auto encode = [&] { return Encode(train, kMinMaxFrame, {out.data(), out.size()}, &size); };
  EXPECT_EQ(encode(), Status::kInvalidArgument) << "uniform dither";
  train.task.format.dither = DitherKind::kGaussian;
  EXPECT_EQ(encode(), Status::kInvalidArgument) << "one length, which nothing bounds";
  train.task.format.length = 0;
  EXPECT_EQ(encode(), Status::kOk);
  train.task.clip_bit_q20 = 1;
  EXPECT_EQ(encode(), Status::kInvalidArgument) << "a bit that it does not cover";
  train.task.clip_bit_q20 = 0;
  train.task.format.coding = Coding::kFloat32;
  EXPECT_EQ(encode(), Status::kInvalidArgument) << "nothing encodes it";
  train.task.format.coding = Coding::kFixed;
  train.task.private_noise_q20 = kMaxPrivateNoiseQ20 + 1;
  EXPECT_EQ(encode(), Status::kInvalidArgument);
  Request begin = UpdateBeginAtItsLimits();
  begin.clip_bit_q20 = 0;
  begin.private_noise_q20 = kMaxPrivateNoiseQ20 + 1;
  EXPECT_EQ(Encode(begin, kMinMaxFrame, {out.data(), out.size()}, &size), Status::kInvalidArgument);
}

std::vector<uint8_t> EdgeBytes(const std::vector<float>& edges) {
  std::vector<uint8_t> bytes(4 * edges.size());
  for (size_t i = 0; i < edges.size(); ++i) StoreU32Le(FloatBits(edges[i]), &bytes[4 * i]);
  return bytes;
}

// With everything else that a task may have.
Reply TrainWithErrorEdges(const std::vector<uint8_t>& edges) {
  Reply r = TrainWithAnOffer();
  r.receipt = TrainAtItsLimits().receipt;
  r.task.error_edges = ErrorEdges(View(edges));
  return r;
}

std::vector<float> MostEdges() {
  std::vector<float> edges;
  for (uint32_t i = 0; i < kMaxErrorEdges; ++i) {
    edges.push_back(-0.5f + 0.1f * static_cast<float>(i));
  }
  return edges;
}

TEST(Wire, ErrorEdgesReturnInTheSmallestFrameOfDevicesThatMeasure) {
  for (const std::vector<float>& edges : {MostEdges(), {1.5f}}) {
    const std::vector<uint8_t> bytes = EdgeBytes(edges);
    ExpectRoundTrip(TrainWithErrorEdges(bytes), kMinMeasuringFrame);
  }
}

TEST(Wire, ErrorEdgesThatDoNotRiseAreRefused) {
  std::vector<uint8_t> out(kFrameHeaderSize + kDefaultMaxFrame);
  size_t size = 0;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {-0.5f, -1.0f, kInfinity, kInfinity - kInfinity}) {
    std::vector<float> edges = MostEdges();
    edges[1] = bad;
    const std::vector<uint8_t> bytes = EdgeBytes(edges);
    const Reply train = TrainWithErrorEdges(bytes);
    EXPECT_EQ(Encode(train, kDefaultMaxFrame, {out.data(), out.size()}, &size),
              Status::kInvalidArgument);
    EXPECT_EQ(train.task.Validate(), Status::kMalformed);
  }
  // Of a reply the field `train`, 2 << 3 | 2, with its length in two bytes; of that the edges,
  // 32 << 3 | 2, with theirs in one.
  const std::vector<uint8_t> most = EdgeBytes(MostEdges());
  const std::vector<uint8_t> body = BodyOf(Frame(TrainWithErrorEdges(most)));
  const std::vector<uint8_t> tag = {0x82, 0x02, 64};
  const auto at = std::search(body.begin(), body.end(), tag.begin(), tag.end());
  ASSERT_NE(at, body.end());
  for (const size_t length : {64u, 4u, 3u, 5u, 68u}) {
    std::vector<uint8_t> train(body.begin() + 3, at);
    train.insert(train.end(), {0x82, 0x02, static_cast<uint8_t>(length)});
    for (size_t i = 0; i < length; ++i) train.push_back(i % 4 == 3 ? 0x3f : 0);
    for (size_t i = 0; i + 4 <= length; i += 4) train[train.size() - length + i] = uint8_t(i);
    train.insert(train.end(), at + 3 + 64, body.end());
    std::vector<uint8_t> spoilt = {0x12, static_cast<uint8_t>(train.size() % 128 + 128),
                                   static_cast<uint8_t>(train.size() / 128)};
    spoilt.insert(spoilt.end(), train.begin(), train.end());
    Reply reply;
    const bool is_good = length == 64 || length == 4;
    EXPECT_EQ(DecodeReply(View(spoilt), &reply), is_good ? Status::kOk : Status::kMalformed)
        << length;
  }
}

TEST(Wire, DecodedBytesPointIntoTheFrame) {
  const std::vector<uint8_t> frame = Frame(ChunkOf(kMinMaxFrame));
  Request request;
  ASSERT_EQ(DecodeRequest(Body(frame), &request), Status::kOk);
  EXPECT_GE(request.bytes.begin(), frame.data());
  EXPECT_LE(request.bytes.end(), frame.data() + frame.size());
  EXPECT_TRUE(Equal(request.bytes, ChunkOf(kMinMaxFrame).bytes));
}

template <typename Message>
void ExpectRefusedByTheEncoder(const Message& message) {
  uint8_t out[kFrameHeaderSize + kMinMaxFrame];
  size_t size = 77;
  EXPECT_EQ(Encode(message, kMinMaxFrame, out, &size), Status::kInvalidArgument);
  EXPECT_EQ(size, 77u);
}

TEST(Wire, FieldsBeyondTheirLimitsAreNotSent) {
  std::vector<Request> bad(9, HelloAtItsLimits());
  const std::string too_long(kMaxDeviceIdSize + 1, 'x');
  bad[0].device_id = View(too_long);
  bad[1].device_id = {};
  bad[2].model_digest = View(kDigest).first(31);
  bad[3].max_frame = kMinMaxFrame - 1;
  bad[4].max_frame = kMaxMaxFrame + 1;
  bad[5] = bad[6] = bad[7] = UpdateBeginAtItsLimits();
  bad[5].job_id = View(kJob).first(15);
  bad[6].nonce = {};
  bad[7].coding = static_cast<Coding>(4);
  bad[8] = Make(Request::Kind::kGetModel);
  bad[8].offset = 2;
  bad.push_back(Make(Request::Kind::kUpdateChunk));
  bad.push_back(Request());
  bad.insert(bad.end(), 2, UpdateBeginAtItsLimits());
  bad.back().coding = Coding::kFloat32;
  bad[bad.size() - 2].clip_bit_q20 = (1 << 30) + 1;
  const std::vector<uint8_t> too_long_receipt(kMaxReceiptSize + 1);
  bad.push_back(HelloAtItsLimits());
  bad.back().receipt = View(too_long_receipt);
  const std::vector<uint8_t> too_long_difference(kMaxDifferenceSize + 1);
  bad.push_back(HelloAtItsLimits());
  bad.back().differs = View(too_long_difference);
  bad.push_back(HelloAtItsLimits());
  bad.back().held = View(kChunk).first(kMaxModelCheckSize + 1);
  bad.insert(bad.end(), 2, Make(Request::Kind::kGetRelease));
  bad.back().held = View(kChunk).first(kMaxModelCheckSize + 1);
  bad[bad.size() - 2].model_digest = View(kChunk).first(kSha256Size - 1);
  for (const Request& request : bad) ExpectRefusedByTheEncoder(request);
}

TEST(Wire, RepliesBeyondTheirLimitsAreNotSent) {
  std::vector<Reply> bad(4, TrainAtItsLimits());
  bad[0].task.format.coding = Coding{};
  bad[1].task.format.dither = static_cast<DitherKind>(3);
  bad[2].task.training.clipping = static_cast<Clipping>(3);
  bad[3].max_frame = 0;
  bad.push_back(Make(Reply::Kind::kModelChunk));
  bad.insert(bad.end(), 4, TrainWithAnOffer());
  bad[5].model.check = {};
  bad[6].model.check = View(kChunk).first(kMaxModelCheckSize + 1);
  bad[7].model.grid = kMostGrid + 1;
  bad[8].model.base = ModelBase::kInitial;
  bad[8].model.weights_key = {};
  bad.insert(bad.end(), 3, ReleaseAtItsLimits());
  bad[9].job_id = {};
  bad[10].claims = View(kChunk).first(kMaxClaimsSize + 1);
  bad[11].model.check = {};
  bad.push_back(Make(Reply::Kind::kError));
  bad.back().code = static_cast<ErrorCode>(12);
  bad.push_back(Make(Reply::Kind::kError));
  bad.back().bytes = View(kChunk).first(kMaxModelNameSize + 1);
  bad.insert(bad.end(), 2, TrainAtItsLimits());
  bad.back().task.format.coding = Coding::kFloat32;
  bad[bad.size() - 2].task.clip_bit_q20 = (1 << 30) + 1;
  const std::vector<uint8_t> too_long_receipt(kMaxReceiptSize + 1);
  bad.push_back(TrainAtItsLimits());
  bad.back().receipt = View(too_long_receipt);
  bad.push_back(Make(Reply::Kind::kWait));
  bad.back().state = static_cast<WaitState>(5);
  bad.insert(bad.end(), 2, Make(Reply::Kind::kDescriptionChunk));
  bad.back().bytes = View(kChunk).first(6);
  bad.back().size = 5;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float threshold : {-1.0f, kInfinity, kInfinity - kInfinity, FloatFromBits(1)}) {
    bad.push_back(ReleaseAtItsLimits());
    bad.back().threshold = threshold;
  }
  for (const Reply& reply : bad) ExpectRefusedByTheEncoder(reply);
}

TEST(Wire, WhatExceedsTheFrameOrTheBufferIsNotSent) {
  std::vector<uint8_t> out(kFrameHeaderSize + kMaxMaxFrame);
  size_t size = 0;
  EXPECT_EQ(EncodeRequest(ChunkOf(kDefaultMaxFrame), kMinMaxFrame, {out.data(), out.size()}, &size),
            Status::kBufferTooSmall);
  for (const uint32_t max_frame : {kMinMaxFrame - 1, kMaxMaxFrame + 1}) {
    EXPECT_EQ(EncodeReply(Make(Reply::Kind::kDone), max_frame, {out.data(), out.size()}, &size),
              Status::kInvalidArgument);
  }
  const size_t whole = Frame(HelloAtItsLimits()).size();
  for (size_t capacity = 0; capacity < whole; ++capacity) {
    std::vector<uint8_t> small(capacity);
    EXPECT_EQ(EncodeRequest(HelloAtItsLimits(), kMinMaxFrame, {small.data(), capacity}, &size),
              Status::kBufferTooSmall);
  }
  EXPECT_EQ(EncodeRequest(HelloAtItsLimits(), kMinMaxFrame, {out.data(), whole}, &size),
            Status::kOk);
}

}  // namespace
}  // namespace sotto
