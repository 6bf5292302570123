// Frames and messages: what goes out comes back, and no bytes whatever do harm.
#include "sotto/wire.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "sotto/bytes.h"
#include "unit/sdk/hex.h"

namespace sotto {
namespace {

constexpr uint32_t kMax32 = std::numeric_limits<uint32_t>::max();

std::vector<uint8_t> Pattern(size_t size) {
  std::vector<uint8_t> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(7 * i + 1);
  return bytes;
}

const std::string kLongestName(kMaxDeviceIdSize, 'x');
const std::vector<uint8_t> kDigest = Pattern(kSha256Size);
const std::vector<uint8_t> kJob = Pattern(kJobIdSize);
const std::vector<uint8_t> kNonce = Pattern(kNonceSize);
const std::vector<uint8_t> kChunk = Pattern(MaxChunkBytes(kMaxMaxFrame));

Request Make(Request::Kind kind) {
  Request r;
  r.kind = kind;
  return r;
}

Reply Make(Reply::Kind kind) {
  Reply r;
  r.kind = kind;
  return r;
}

Request HelloAtItsLimits() {
  Request r = Make(Request::Kind::kHello);
  r.device_id = View(kLongestName);
  r.model_digest = View(kDigest);
  r.max_frame = kMaxMaxFrame;
  return r;
}

Request UpdateBeginAtItsLimits() {
  Request r = Make(Request::Kind::kUpdateBegin);
  r.round = r.attempt = kMax32;
  r.job_id = View(kJob);
  r.nonce = View(kNonce);
  r.coding = Coding::kRange;
  r.clip_bit_q20 = 1 << 30;
  return r;
}

Request ChunkOf(uint32_t max_frame) {
  Request r = Make(Request::Kind::kUpdateChunk);
  r.offset = kMax32;
  r.bytes = View(kChunk).first(MaxChunkBytes(max_frame));
  r.last = true;
  return r;
}

Reply TrainAtItsLimits() {
  Reply r = Make(Reply::Kind::kTrain);
  std::copy(kJob.begin(), kJob.end(), r.task.job_id);
  r.task.round = r.task.attempt = kMax32;
  r.task.format = {Coding::kRange, DitherKind::kUniform, kMaxPadding};
  r.task.unit = std::numeric_limits<float>::max();
  r.task.training = {kMax32, kMax32, 1e-45f, 0.25f, -0.0f, Clipping::kAtEnd};
  r.task.clip_bit_q20 = 1 << 30;
  r.max_frame = kMaxMaxFrame;
  return r;
}

std::vector<Request> Requests(uint32_t max_frame) {
  Request get_model = Make(Request::Kind::kGetModel);
  get_model.offset = kMax32 - 3;
  Request other_version = Make(Request::Kind::kHello);
  other_version.version = kMax32;
  Request smallest_name = HelloAtItsLimits();
  smallest_name.device_id = View(kLongestName).first(1);
  smallest_name.max_frame = kMinMaxFrame;
  return {HelloAtItsLimits(),
          smallest_name,
          other_version,
          get_model,
          UpdateBeginAtItsLimits(),
          ChunkOf(max_frame),
          {}};
}

std::vector<Reply> Replies(uint32_t max_frame) {
  Reply wait = Make(Reply::Kind::kWait);
  wait.wait_ms = kMax32;
  Reply chunk = Make(Reply::Kind::kModelChunk);
  chunk.bytes = View(kChunk).first(MaxChunkBytes(max_frame));
  Reply ack = Make(Reply::Kind::kAck);
  ack.offset = kMax32;
  ack.complete = true;
  Reply error = Make(Reply::Kind::kError);
  error.code = ErrorCode::kBusy;
  error.final = true;
  error.wait_ms = kMax32;
  return {wait, TrainAtItsLimits(), Make(Reply::Kind::kDone), chunk, ack, error};
}

bool Equal(ByteSpan a, ByteSpan b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin());
}

void ExpectEqual(const Request& a, const Request& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.version, b.version);
  EXPECT_TRUE(Equal(a.device_id, b.device_id));
  EXPECT_TRUE(Equal(a.model_digest, b.model_digest));
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
  const bool means_more = a.version == kProtocolVersion;
  EXPECT_EQ(means_more ? a.max_frame : 0, means_more ? b.max_frame : 0);
}

void ExpectEqual(const TrainTask& a, const TrainTask& b) {
  EXPECT_TRUE(Equal(a.job_id, b.job_id));
  EXPECT_EQ(a.round, b.round);
  EXPECT_EQ(a.attempt, b.attempt);
  EXPECT_EQ(a.format.coding, b.format.coding);
  EXPECT_EQ(a.format.dither, b.format.dither);
  EXPECT_EQ(a.format.padding, b.format.padding);
  EXPECT_EQ(FloatBits(a.unit), FloatBits(b.unit));
  EXPECT_EQ(a.private_noise_q20, b.private_noise_q20);
  EXPECT_EQ(a.training.local_epochs, b.training.local_epochs);
  EXPECT_EQ(a.training.batch_size, b.training.batch_size);
  EXPECT_EQ(FloatBits(a.training.learning_rate), FloatBits(b.training.learning_rate));
  EXPECT_EQ(FloatBits(a.training.weight_decay), FloatBits(b.training.weight_decay));
  EXPECT_EQ(FloatBits(a.training.clip_l2), FloatBits(b.training.clip_l2));
  EXPECT_EQ(a.training.clipping, b.training.clipping);
  EXPECT_EQ(a.clip_bit_q20, b.clip_bit_q20);
}

void ExpectEqual(const Reply& a, const Reply& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.wait_ms, b.wait_ms);
  ExpectEqual(a.task, b.task);
  EXPECT_EQ(a.max_frame, b.max_frame);
  EXPECT_TRUE(Equal(a.bytes, b.bytes));
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.complete, b.complete);
  EXPECT_EQ(a.code, b.code);
  EXPECT_EQ(a.final, b.final);
}

Status Encode(const Request& r, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  return EncodeRequest(r, max_frame, out, size);
}
Status Encode(const Reply& r, uint32_t max_frame, MutableByteSpan out, size_t* size) {
  return EncodeReply(r, max_frame, out, size);
}
Status Decode(ByteSpan body, Request* r) { return DecodeRequest(body, r); }
Status Decode(ByteSpan body, Reply* r) { return DecodeReply(body, r); }

// The frame of a valid message in exactly as much memory as it has bytes, so that a sanitizer sees
// any step beyond it.
template <typename Message>
std::vector<uint8_t> Frame(const Message& message, uint32_t max_frame = kMaxMaxFrame) {
  std::vector<uint8_t> bytes(kFrameHeaderSize + max_frame);
  size_t size = 0;
  EXPECT_EQ(Encode(message, max_frame, {bytes.data(), bytes.size()}, &size), Status::kOk);
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}

ByteSpan Body(const std::vector<uint8_t>& frame) { return View(frame).subspan(kFrameHeaderSize); }

template <typename Message>
void ExpectRoundTrip(const Message& message, uint32_t max_frame) {
  const std::vector<uint8_t> frame = Frame(message, max_frame);
  ASSERT_GE(frame.size(), kFrameHeaderSize + 1);
  EXPECT_EQ(frame.size() - kFrameHeaderSize, static_cast<size_t>(frame[0] | frame[1] << 8));
  Message back;
  ASSERT_EQ(Decode(Body(frame), &back), Status::kOk);
  ExpectEqual(message, back);
}

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
  for (uint8_t code = 0; code <= static_cast<uint8_t>(ErrorCode::kBusy); ++code) {
    error.code = static_cast<ErrorCode>(code);
    ExpectRoundTrip(error, kMinMaxFrame);
    EXPECT_EQ(ErrorCodeName(error.code)[0], 'k');
  }
  EXPECT_STREQ(ErrorCodeName(static_cast<ErrorCode>(200)), "unknown error code");
}

TEST(Wire, PrivateNoiseReturnsAtItsLimits) {
  for (const uint32_t noise : {0u, 1u, kMaxPrivateNoiseQ20}) {
    Reply train = TrainAtItsLimits();
    train.task.format.dither = DitherKind::kGaussian;
    train.task.clip_bit_q20 = 0;
    train.task.private_noise_q20 = noise;
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
  for (const Request& request : bad) ExpectRefusedByTheEncoder(request);
}

TEST(Wire, RepliesBeyondTheirLimitsAreNotSent) {
  std::vector<Reply> bad(4, TrainAtItsLimits());
  bad[0].task.format.coding = Coding{};
  bad[1].task.format.dither = static_cast<DitherKind>(3);
  bad[2].task.training.clipping = static_cast<Clipping>(3);
  bad[3].max_frame = 0;
  bad.push_back(Make(Reply::Kind::kModelChunk));
  bad.push_back(bad.back());
  bad.back().bytes = View(kChunk).first(6);
  bad.push_back(Make(Reply::Kind::kError));
  bad.back().code = static_cast<ErrorCode>(9);
  bad.insert(bad.end(), 2, TrainAtItsLimits());
  bad.back().task.format.coding = Coding::kFloat32;
  bad[bad.size() - 2].task.clip_bit_q20 = (1 << 30) + 1;
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

// Hand-made bodies: a Request or Reply with one field, its message.
std::vector<uint8_t> Wrapped(uint8_t tag, const std::vector<uint8_t>& inner) {
  std::vector<uint8_t> body(2 + inner.size());
  body[0] = static_cast<uint8_t>(tag << 3 | 2);
  body[1] = static_cast<uint8_t>(inner.size());
  std::copy(inner.begin(), inner.end(), body.begin() + 2);
  return body;
}

TEST(Wire, UnknownFieldsAreSkipped) {
  std::vector<uint8_t> body = Wrapped(2, FromHex("08f8ffffff0f"
                                                 "9a0603010203"
                                                 "a00601"));
  const std::vector<uint8_t> unknown = FromHex("9a0603010203a506000000007801");
  body.insert(body.begin(), unknown.begin(), unknown.end());
  body.insert(body.end(), unknown.begin(), unknown.end());
  Request request;
  ASSERT_EQ(DecodeRequest(View(body), &request), Status::kOk);
  EXPECT_EQ(request.kind, Request::Kind::kGetModel);
  EXPECT_EQ(request.offset, kMax32 - 7);
}

TEST(Wire, AHelloOfAnotherVersionIsReadAsFarAsItsVersion) {
  Request request;
  const std::vector<uint8_t> body = Wrapped(1, FromHex("08021203782f78"));
  ASSERT_EQ(DecodeRequest(View(body), &request), Status::kOk);
  EXPECT_EQ(request.kind, Request::Kind::kHello);
  EXPECT_EQ(request.version, 2u);
}

TEST(Wire, AnErrorCodeOfALaterServerIsKUnknown) {
  Reply reply;
  ASSERT_EQ(DecodeReply(View(Wrapped(6, FromHex("08ffffff7f1001"))), &reply), Status::kOk);
  EXPECT_EQ(reply.code, ErrorCode::kUnknown);
  EXPECT_TRUE(reply.final);
}

TEST(Wire, RequestsThatNoHonestDeviceSendsAreMalformed) {
  const std::string job = "0a10000102030405060708090a0b0c0d0e0f";
  const std::string nonce = "2210000102030405060708090a0b0c0d0e0f";
  const std::vector<std::vector<uint8_t>> bodies = {
      {},
      FromHex("00"),
      FromHex("2a00"),                                     // a message of a later version
      Wrapped(1, {}),                                      // version 0 names nobody's protocol ...
      Wrapped(2, FromHex("0802")),                         // offset 2
      Wrapped(2, FromHex("08808080801f")),                 // an offset above 32 bits
      Wrapped(3, FromHex(job + nonce)),                    // no coding
      Wrapped(3, FromHex(job + nonce + "2804")),           // coding 4
      Wrapped(3, FromHex(job + nonce + "288302")),         // coding 259
      Wrapped(3, FromHex(job + "2803")),                   // no nonce
      Wrapped(3, FromHex("0801" + nonce + "2803")),        // the job as a number
      Wrapped(3, FromHex("0d01020304" + nonce + "2803")),  // the job as fixed32
      Wrapped(4, FromHex("0800")),                         // no bytes
      Wrapped(4, FromHex("120501")),                       // more bytes announced than there are
  };
  for (size_t i = 0; i < bodies.size(); ++i) {
    Request request;
    request.offset = 4711;
    const Status expected = i == 3 ? Status::kOk : Status::kMalformed;
    EXPECT_EQ(DecodeRequest(View(bodies[i]), &request), expected) << "body " << i;
    EXPECT_EQ(request.offset, expected == Status::kOk ? 0 : 4711u) << "unchanged if malformed";
  }
}

TEST(Wire, RepliesThatNoHonestServerSendsAreMalformed) {
  const std::string job = "0a10000102030405060708090a0b0c0d0e0f";
  for (const std::vector<uint8_t>& body : {
           std::vector<uint8_t>{}, Wrapped(7, {}),
           Wrapped(2, FromHex(job + "2001280140006808")),    // clipping 0, max_frame 8
           Wrapped(2, FromHex(job + "20012803400168800a")),  // dither 3
           Wrapped(2, FromHex("20012801400168800a")),        // no job
           Wrapped(2, FromHex("0a0101"
                              "20012801400168800a")),  // a job of one byte
           Wrapped(4, FromHex("0a03010203")),          // three bytes of the model
           Wrapped(4, {}),                             // none
       }) {
    Reply reply;
    EXPECT_EQ(DecodeReply(View(body), &reply), Status::kMalformed) << ToHex(View(body));
  }
  Reply reply;
  EXPECT_EQ(DecodeReply(View(Wrapped(2, FromHex(job + "20012801400168800a"))), &reply),
            Status::kOk);
}

// Truncated bodies in memory of their own size: a read beyond the end is a sanitizer's finding. A
// prefix can be a whole message, with what came later absent; then it is within its limits.
template <typename Message>
void TruncateEverywhere(const Message& message) {
  const std::vector<uint8_t> frame = Frame(message, kMinMaxFrame);
  for (size_t size = kFrameHeaderSize; size < frame.size(); ++size) {
    const std::vector<uint8_t> body(frame.begin() + kFrameHeaderSize,
                                    frame.begin() + static_cast<std::ptrdiff_t>(size));
    Message back;
    EXPECT_EQ(Decode(View(body), &back), Status::kMalformed) << "after " << size << " bytes";
  }
}

TEST(Wire, AMessageCutAnywhereIsMalformed) {
  for (const Request& request : Requests(kMinMaxFrame)) {
    if (request.kind != Request::Kind::kNone) TruncateEverywhere(request);
  }
  for (const Reply& reply : Replies(kMinMaxFrame)) TruncateEverywhere(reply);
}

// One to four changes to a valid body: a byte replaced, a bit flipped, bytes removed or repeated.
std::vector<uint8_t> Mutate(std::vector<uint8_t> body, std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<std::ptrdiff_t>(random() % n); };
  for (auto changes = 1 + below(4); changes > 0 && !body.empty(); --changes) {
    const auto at = body.begin() + below(body.size());
    switch (below(4)) {
      case 0:
        *at = static_cast<uint8_t>(random());
        break;
      case 1:
        *at = static_cast<uint8_t>(*at ^ 1 << below(8));
        break;
      case 2:
        body.erase(at, at + 1 + below(static_cast<size_t>(body.end() - at)));
        break;
      default: {
        const std::vector<uint8_t> again(at, body.end());
        body.insert(at, again.begin(), again.end());
      }
    }
    if (body.size() > 1000) body.resize(1000);
  }
  return body;
}

// What was decoded can be sent again and then means the same: nothing outside the limits passed.
template <typename Message>
int DecodeMutations(const std::vector<uint8_t>& valid, int count, std::mt19937& random) {
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    const std::vector<uint8_t> body = Mutate(valid, random);
    Message message;
    const Status status = Decode(View(body), &message);
    if (status == Status::kOk) {
      ++accepted;
      ExpectRoundTrip(message, kDefaultMaxFrame);
    } else {
      EXPECT_EQ(status, Status::kMalformed);
    }
    if (testing::Test::HasFailure()) return accepted;
  }
  return accepted;
}

std::vector<uint8_t> BodyOf(const std::vector<uint8_t>& frame) {
  return {frame.begin() + kFrameHeaderSize, frame.end()};
}

// 10,000 mutations of each of a dozen messages; seed 1.
TEST(Wire, MutatedMessagesAreMalformedOrWithinTheirLimits) {
  std::mt19937 random(1);
  int accepted = 0;
  for (const Request& request : Requests(kMinMaxFrame)) {
    if (request.kind == Request::Kind::kNone || request.version != kProtocolVersion) continue;
    accepted += DecodeMutations<Request>(BodyOf(Frame(request, kMinMaxFrame)), 10000, random);
  }
  for (const Reply& reply : Replies(kMinMaxFrame)) {
    accepted += DecodeMutations<Reply>(BodyOf(Frame(reply, kMinMaxFrame)), 10000, random);
  }
  EXPECT_GT(accepted, 1000) << "mutations that pass exercise the second half of the decoder";
}

TEST(FrameReader, FramesAreFoundHoweverTheStreamIsCut) {
  std::vector<uint8_t> stream = Frame(HelloAtItsLimits(), kMinMaxFrame);
  const std::vector<uint8_t> second = Frame(ChunkOf(kMinMaxFrame), kMinMaxFrame);
  const size_t first_size = stream.size();
  stream.insert(stream.end(), second.begin(), second.end());
  for (size_t piece = 1; piece <= stream.size(); ++piece) {
    std::vector<uint8_t> buffer(kMinMaxFrame);
    FrameReader reader({buffer.data(), buffer.size()});
    std::vector<std::vector<uint8_t>> bodies;
    for (size_t at = 0; at < stream.size();) {
      size_t taken = 0;
      const size_t size = std::min(piece, stream.size() - at);
      ASSERT_EQ(reader.Feed(View(stream).subspan(at, size), &taken), Status::kOk);
      at += taken;
      if (!reader.complete()) continue;
      EXPECT_TRUE(reader.missing().empty());
      bodies.emplace_back(reader.body().begin(), reader.body().end());
      reader.Next();
    }
    ASSERT_EQ(bodies.size(), 2u);
    EXPECT_EQ(bodies[0].size(), first_size - kFrameHeaderSize);
    EXPECT_EQ(bodies[1], BodyOf(second));
  }
}

TEST(FrameReader, BytesCanBeReceivedInPlace) {
  const std::vector<uint8_t> frame = Frame(HelloAtItsLimits());
  std::vector<uint8_t> buffer(kMinMaxFrame);
  FrameReader reader({buffer.data(), buffer.size()});
  size_t at = 0;
  while (!reader.complete()) {
    const MutableByteSpan space = reader.missing();
    ASSERT_FALSE(space.empty());
    EXPECT_EQ(reader.Received(space.size() + 1), Status::kInvalidArgument);
    std::copy_n(frame.begin() + static_cast<std::ptrdiff_t>(at), space.size(), space.begin());
    at += space.size();
    ASSERT_EQ(reader.Received(space.size()), Status::kOk);
  }
  EXPECT_EQ(at, frame.size());
  EXPECT_TRUE(Equal(reader.body(), Body(frame)));
}

TEST(FrameReader, AnEmptyOrOversizedFrameIsMalformed) {
  for (const char* header : {"0000", "0101", "ffff"}) {
    std::vector<uint8_t> buffer(256);
    FrameReader reader({buffer.data(), buffer.size()});
    std::vector<uint8_t> bytes = FromHex(header);
    bytes.push_back(1);
    size_t taken = 0;
    EXPECT_EQ(reader.Feed(View(bytes), &taken), Status::kMalformed) << header;
    EXPECT_FALSE(reader.complete());
    EXPECT_TRUE(reader.missing().empty());
    EXPECT_EQ(reader.Feed(View(bytes), &taken), Status::kMalformed) << "it stays so";
    EXPECT_EQ(reader.Received(0), Status::kMalformed);
  }
  std::vector<uint8_t> buffer(256);
  FrameReader reader({buffer.data(), buffer.size()});
  size_t taken = 0;
  EXPECT_EQ(reader.Feed(View(FromHex("0001")), &taken), Status::kOk) << "256 is the largest";
  EXPECT_EQ(reader.missing().size(), 256u);
}

}  // namespace
}  // namespace sotto
