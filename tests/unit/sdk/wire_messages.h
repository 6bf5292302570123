// Messages at the limits of their fields, as frames and back.
#pragma once

#include <algorithm>
#include <cstdint>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "sotto/wire.h"
#include "unit/sdk/hex.h"

namespace sotto {

inline constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();

inline std::vector<uint8_t> Pattern(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(7 * i + 1);
  return bytes;
}

inline const std::string kLongestName(kMaxDeviceIdSize, 'x');
inline const std::vector<uint8_t> kDigest = Pattern(kSha256Size);
inline const std::vector<uint8_t> kJob = Pattern(kJobIdSize);
inline const std::vector<uint8_t> kNonce = Pattern(kNonceSize);
inline const std::vector<uint8_t> kReceipt = Pattern(kMaxReceiptSize);
inline const std::vector<uint8_t> kCheck = Pattern(kMaxModelCheckSize);
inline const std::vector<uint8_t> kWeightsKey = Pattern(sizeof(Key::bytes));
inline const std::vector<uint8_t> kChunk = Pattern(MaxChunkBytes(kMaxMaxFrame));

inline Request Make(Request::Kind kind) {
  Request r;
  r.kind = kind;
  return r;
}

inline Reply Make(Reply::Kind kind) {
  Reply r;
  r.kind = kind;
  return r;
}

inline Request HelloAtItsLimits() {
  Request r = Make(Request::Kind::kHello);
  r.device_id = View(kLongestName);
  r.model_digest = View(kDigest);
  r.max_frame = kMaxMaxFrame;
  r.receipt = View(kReceipt);
  r.abilities = {kMax32, kMax32};
  r.held = View(kCheck);
  return r;
}

// A later one of a connection.
inline Request ShortHello() {
  Request r = Make(Request::Kind::kHello);
  r.version = 0;
  r.max_frame = 0;
  r.hold_ms = kMax32;
  return r;
}

// As much as a Hello may say of a difference: with a name and a receipt of full length it exceeds
// the smallest frame.
inline Request HelloThatDiffers() {
  Request r = HelloAtItsLimits();
  r.differs = View(kChunk).first(kMaxDifferenceSize);
  return r;
}

inline Request UpdateBeginAtItsLimits() {
  Request r = Make(Request::Kind::kUpdateBegin);
  r.round = r.attempt = kMax32;
  r.job_id = View(kJob);
  r.nonce = View(kNonce);
  r.coding = Coding::kRange;
  r.clip_bit_q20 = 1 << 30;
  return r;
}

inline Request ChunkOf(uint32_t max_frame) {
  Request r = Make(Request::Kind::kUpdateChunk);
  r.offset = kMax32;
  r.bytes = View(kChunk).first(MaxChunkBytes(max_frame));
  r.last = true;
  return r;
}

inline Reply TrainAtItsLimits() {
  Reply r = Make(Reply::Kind::kTrain);
  std::copy(kJob.begin(), kJob.end(), r.task.job_id);
  r.task.round = r.task.attempt = kMax32;
  r.task.format = {Coding::kRange, DitherKind::kUniform, kMaxPadding, kMaxLength};
  r.task.quantizer_scale = std::numeric_limits<float>::max();
  r.task.training = {kMax32,
                     kMax32,
                     1e-45f,
                     0.25f,
                     -0.0f,
                     Clipping::kAtEnd,
                     Batches::kWithReplacement,
                     RatePower::kOne,
                     GradientClipOf::kSample,
                     0.99999994f,
                     kMax32,
                     kMax32,
                     0x1p-30f,
                     std::numeric_limits<float>::max(),
                     ClipByLayer::kSize};
  r.task.clip_bit_q20 = 1 << 30;
  r.max_frame = kMaxMaxFrame;
  r.receipt = View(kReceipt);
  r.report_ms = kMax32;
  r.server_features = kMax32;
  return r;
}

inline ModelOffer OfferAtItsLimits() {
  return {View(kCheck), kMostGrid, ModelBase::kZeros, View(kWeightsKey), kMax32, kMax32};
}

inline Reply TrainWithAnOffer() {
  Reply r = TrainAtItsLimits();
  r.receipt = {};
  r.model = OfferAtItsLimits();
  return r;
}

inline Reply ReleaseAtItsLimits() {
  Reply r = Make(Reply::Kind::kRelease);
  r.model = OfferAtItsLimits();
  r.job_id = View(kJob);
  r.rounds = kMax32;
  r.final = true;
  r.claims = View(kChunk).first(kMaxClaimsSize);
  r.threshold = std::numeric_limits<float>::max();
  return r;
}

inline std::vector<Request> Requests(uint32_t max_frame) {
  Request get_model = Make(Request::Kind::kGetModel);
  get_model.offset = kMax32 - 3;
  Request other_version = Make(Request::Kind::kHello);
  other_version.version = kMax32;
  Request smallest_name = HelloAtItsLimits();
  smallest_name.device_id = View(kLongestName).first(1);
  smallest_name.max_frame = kMinMaxFrame;
  smallest_name.receipt = {};
  smallest_name.abilities = {};
  Request get_description = Make(Request::Kind::kGetDescription);
  get_description.offset = kMax32;
  Request get_code = get_model;
  get_code.offset = get_code.code = kMax32;
  Request get_release = Make(Request::Kind::kGetRelease);
  get_release.held = View(kCheck);
  Request get_release_of = get_release;
  get_release_of.model_digest = View(kChunk).first(kSha256Size);
  return {HelloAtItsLimits(), ShortHello(),    smallest_name,
          other_version,      get_model,       get_code,
          get_release,        get_release_of,  UpdateBeginAtItsLimits(),
          ChunkOf(max_frame), get_description, {}};
}

inline std::vector<Reply> Replies(uint32_t max_frame) {
  Reply wait = Make(Reply::Kind::kWait);
  wait.wait_ms = kMax32;
  wait.state = WaitState::kDevices;
  Reply chunk = Make(Reply::Kind::kModelChunk);
  chunk.bytes = View(kChunk).first(MaxChunkBytes(max_frame));
  Reply ack = Make(Reply::Kind::kAck);
  ack.offset = kMax32;
  ack.complete = true;
  Reply salted_ack = ack;
  salted_ack.salt.is_there = true;
  std::fill(std::begin(salted_ack.salt.bytes), std::end(salted_ack.salt.bytes), uint8_t{0xa5});
  Reply error = Make(Reply::Kind::kError);
  error.code = ErrorCode::kBusy;
  error.final = true;
  error.wait_ms = kMax32;
  Reply mismatch = Make(Reply::Kind::kError);
  mismatch.code = ErrorCode::kModelMismatch;
  mismatch.bytes = View(kChunk).first(kMaxModelNameSize);
  Reply description = Make(Reply::Kind::kDescriptionChunk);
  description.bytes = View(kChunk).first(MaxChunkBytes(max_frame));
  description.size = kMax32;
  wait.server_features = wait.release = kMax32;
  return {wait,
          TrainAtItsLimits(),
          TrainWithAnOffer(),
          Make(Reply::Kind::kDone),
          chunk,
          ack,
          salted_ack,
          error,
          mismatch,
          description,
          ReleaseAtItsLimits()};
}

inline bool Equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

inline void ExpectEqual(const Request& a, const Request& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.version, b.version);
  EXPECT_TRUE(Equal(a.device_id, b.device_id));
  EXPECT_TRUE(Equal(a.model_digest, b.model_digest));
  EXPECT_TRUE(Equal(a.receipt, b.receipt));
  EXPECT_TRUE(Equal(a.job_id, b.job_id));
  EXPECT_TRUE(Equal(a.nonce, b.nonce));
  EXPECT_TRUE(Equal(a.bytes, b.bytes));
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.round, b.round);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.coding, b.coding);
  EXPECT_EQ(a.clip_bit_q20, b.clip_bit_q20);
  EXPECT_EQ(a.private_noise_q20, b.private_noise_q20);
  EXPECT_EQ(a.last, b.last);
  EXPECT_EQ(a.abilities.largest_batch, b.abilities.largest_batch);
  EXPECT_EQ(a.abilities.features, b.abilities.features);
  EXPECT_EQ(a.hold_ms, b.hold_ms);
  EXPECT_TRUE(Equal(a.differs, b.differs));
  EXPECT_TRUE(Equal(a.held, b.held));
  EXPECT_EQ(a.code, b.code);
  const bool means_more = a.version == kProtocolVersion;
  EXPECT_EQ(means_more ? a.max_frame : 0, means_more ? b.max_frame : 0);
}

inline void ExpectEqual(const TrainTask& a, const TrainTask& b) {
  EXPECT_TRUE(Equal(a.job_id, b.job_id));
  EXPECT_EQ(a.round, b.round);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.format.coding, b.format.coding);
  EXPECT_EQ(a.format.dither, b.format.dither);
  EXPECT_EQ(a.format.padding, b.format.padding);
  EXPECT_EQ(a.format.length, b.format.length);
  EXPECT_EQ(FloatBits(a.quantizer_scale), FloatBits(b.quantizer_scale));
  EXPECT_EQ(a.private_noise_q20, b.private_noise_q20);
  EXPECT_EQ(a.training.local_epochs, b.training.local_epochs);
  EXPECT_EQ(a.training.batch_size, b.training.batch_size);
  EXPECT_EQ(FloatBits(a.training.learning_rate), FloatBits(b.training.learning_rate));
  EXPECT_EQ(FloatBits(a.training.weight_decay), FloatBits(b.training.weight_decay));
  EXPECT_EQ(FloatBits(a.training.momentum), FloatBits(b.training.momentum));
  EXPECT_EQ(FloatBits(a.training.clip_l2), FloatBits(b.training.clip_l2));
  EXPECT_EQ(a.training.clipping, b.training.clipping);
  EXPECT_EQ(a.training.local_steps, b.training.local_steps);
  EXPECT_EQ(a.training.batches, b.training.batches);
  EXPECT_EQ(a.training.rate_first, b.training.rate_first);
  EXPECT_EQ(a.training.rate_power, b.training.rate_power);
  EXPECT_EQ(FloatBits(a.training.gradient_clip), FloatBits(b.training.gradient_clip));
  EXPECT_EQ(a.training.gradient_clip_of, b.training.gradient_clip_of);
  EXPECT_EQ(FloatBits(a.training.proximal), FloatBits(b.training.proximal));
  EXPECT_EQ(a.training.clip_by_layer, b.training.clip_by_layer);
  EXPECT_EQ(a.clip_bit_q20, b.clip_bit_q20);
  EXPECT_TRUE(Equal(a.error_edges.bytes(), b.error_edges.bytes()));
}

inline void ExpectEqual(const ModelOffer& a, const ModelOffer& b) {
  EXPECT_TRUE(Equal(a.check, b.check));
  EXPECT_EQ(a.grid, b.grid);
  EXPECT_EQ(a.base, b.base);
  EXPECT_TRUE(Equal(a.weights_key, b.weights_key));
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.code, b.code);
}

inline void ExpectEqual(const Reply& a, const Reply& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.wait_ms, b.wait_ms);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.size, b.size);
  ExpectEqual(a.task, b.task);
  EXPECT_EQ(a.max_frame, b.max_frame);
  EXPECT_EQ(a.report_ms, b.report_ms);
  EXPECT_TRUE(Equal(a.receipt, b.receipt));
  EXPECT_TRUE(Equal(a.bytes, b.bytes));
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_TRUE(Equal(a.salt.view(), b.salt.view()));
  EXPECT_EQ(a.complete, b.complete);
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.final, b.final);
  EXPECT_EQ(a.server_features, b.server_features);
  EXPECT_EQ(a.release, b.release);
  ExpectEqual(a.model, b.model);
  EXPECT_TRUE(Equal(a.job_id, b.job_id));
  EXPECT_EQ(a.rounds, b.rounds);
  EXPECT_EQ(FloatBits(a.threshold), FloatBits(b.threshold));
  EXPECT_TRUE(Equal(a.claims, b.claims));
}

inline Status Encode(const Request& r, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  return EncodeRequest(r, max_frame, out, size);
}
inline Status Encode(const Reply& r, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  return EncodeReply(r, max_frame, out, size);
}
inline Status Decode(ByteSpan body, Request* r) { return DecodeRequest(body, r); }
inline Status Decode(ByteSpan body, Reply* r) { return DecodeReply(body, r); }

// The frame of a valid message in exactly as much memory as it has bytes, so that a sanitizer sees
// any step beyond it.
template <typename Message>
std::vector<uint8_t> Frame(const Message& message, uint32_t max_frame = kMaxMaxFrame) {
  std::vector<uint8_t> bytes(kFrameHeaderSize + max_frame);
  size_t size = 0;
  EXPECT_EQ(Encode(message, max_frame, {bytes.data(), bytes.size()}, &size), Status::kOk);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

inline ByteSpan Body(const std::vector<uint8_t>& frame) {
  return View(frame).subspan(kFrameHeaderSize);
}

inline std::vector<uint8_t> BodyOf(const std::vector<uint8_t>& frame) {
  return {frame.begin() + kFrameHeaderSize, frame.end()};
}

template <typename Message>
void ExpectRoundTrip(const Message& message, uint32_t max_frame) {
  const std::vector<uint8_t> frame = Frame(message, max_frame);
  ASSERT_GE(frame.size(), kFrameHeaderSize + 1);
  EXPECT_EQ(frame.size() - kFrameHeaderSize, static_cast<size_t>(frame[0] | frame[1] << 8));
  Message back;
  ASSERT_EQ(Decode(Body(frame), &back), Status::kOk);
  ExpectEqual(message, back);
}

}  // namespace sotto
