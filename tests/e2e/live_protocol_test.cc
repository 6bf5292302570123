// Dishonest callers against a server. The server refuses each caller with a named error or closes
// the connection, its cost stays within limits, and afterwards the same process completes a round
// with honest devices.
#include <algorithm>
#include <csignal>
#include <gtest/gtest.h>
#include <memory>
#include <random>

#include "e2e/live.h"
#include "sotto/posix/port.h"
#include "unit/sdk/hex.h"

namespace sotto::live {
namespace {

constexpr uint8_t kZeroUpdate[1] = {0};
constexpr uint8_t kNonce[kNonceSize] = {1, 2, 3};
constexpr uint8_t kOtherNonce[kNonceSize] = {4, 5, 6};

constexpr int kHangsUpMs = 20000;  // the server must have hung up by then, on a busy machine

bool IsError(const Reply& reply, ErrorCode code) {
  return reply.kind == Reply::Kind::kError && reply.final && reply.code == code;
}

Request GetModel() {
  Request request;
  request.kind = Request::Kind::kGetModel;
  return request;
}

// Four devices, three of which are drawn for a round. The server's timeouts for them exceed
// kHangsUpMs, and a round lasts until its cohort has reported.
class LiveProtocolTest : public testing::Test {
 protected:
  explicit LiveProtocolTest(const std::string& patience_s = "50")
      : server_(site_.Serve({"--cohort", "3", "--rounds", "500", "--noise-multiplier", "1",
                             "--coding", "fixed", "--padding", "0", "--round-timeout", "50",
                             "--handshake-timeout", patience_s, "--request-timeout", patience_s})) {
  }

  void TearDown() override {
    EXPECT_TRUE(RoundCompletes(site_, server_)) << ReadFile(server_.log);
    EXPECT_TRUE(Eventually([&] { return server_.open_files() == idle_files_; }))
        << "a connection is not closed for ever";
    server_.process.Signal(SIGTERM);
    EXPECT_EQ(server_.process.Wait(), 128 + SIGTERM) << ReadFile(server_.log);
  }

  // The smallest of several counts, because the store briefly has one more file open.
  size_t IdleFiles() const {
    size_t least = server_.open_files();
    for (int look = 0; look < 10; ++look) {
      posix::SleepMs(20);
      least = std::min(least, server_.open_files());
    }
    return least;
  }

  std::unique_ptr<Caller> Connected(size_t device) {
    auto caller = std::make_unique<Caller>(server_.port, site_.key(device));
    EXPECT_EQ(caller->Connect(), Status::kOk);
    return caller;
  }

  // A device that is drawn for the open round, and its task. The first round opens after the server
  // listens.
  std::unique_ptr<Caller> Drawn(TrainTask* task) {
    std::unique_ptr<Caller> caller;
    EXPECT_TRUE(Eventually([&] {
      for (size_t i = 0; i < site_.devices(); ++i) {
        caller = Connected(i);
        const Reply reply = caller->Hello();
        *task = reply.task;
        if (reply.kind == Reply::Kind::kTrain) return true;
      }
      return false;
    })) << "nobody was drawn";
    return caller;
  }

  Site site_{4};
  Server server_;
  size_t idle_files_ = IdleFiles();  // without connections
};

// A server with short timeouts.
class LiveStallTest : public LiveProtocolTest {
 protected:
  LiveStallTest() : LiveProtocolTest("1.5") {}
};

// SECURITY.md S1.
TEST_F(LiveProtocolTest, AnUnknownDeviceAndAWrongKeyAreRefusedAlike) {
  posix::DeviceKey unknown = site_.key(0);
  unknown.device_id = "stranger";
  posix::DeviceKey wrong = site_.key(0);
  wrong.secret.bytes[31] ^= 1;
  const Status refused = Caller(server_.port, unknown).Connect();
  EXPECT_EQ(refused, Status::kPeerRefused);
  EXPECT_EQ(Caller(server_.port, wrong).Connect(), refused);
}

TEST_F(LiveProtocolTest, AnotherModelIsRefusedByName) {
  constexpr uint8_t kDigest[kSha256Size] = {};
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.device_id = View(site_.key(0).device_id);
  hello.model_digest = kDigest;
  EXPECT_TRUE(IsError(Connected(0)->Ask(hello), ErrorCode::kModelMismatch));
}

// One that asks for descriptions may take the job's model: its first mismatch is no news.
TEST_F(LiveProtocolTest, ADeviceThatTakesDescriptionsIsNamedOnceItKeepsAnotherModel) {
  constexpr uint8_t kDigest[kSha256Size] = {1};
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.model_digest = kDigest;
  const auto refused = [&](size_t device) {
    return Count(ReadFile(server_.log), site_.key(device).device_id + ": refused, it has ");
  };
  const std::unique_ptr<Caller> taker = Connected(0);
  const std::unique_ptr<Caller> other = Connected(1);
  hello.device_id = View(site_.key(0).device_id);
  hello.abilities.features = kFeatureDescription;
  EXPECT_TRUE(IsError(taker->Ask(hello), ErrorCode::kModelMismatch));
  hello.device_id = View(site_.key(1).device_id);
  hello.abilities.features = kFeatureStays;
  EXPECT_TRUE(IsError(other->Ask(hello), ErrorCode::kModelMismatch));
  EXPECT_TRUE(Eventually([&] { return refused(1) == 1; })) << ReadFile(server_.log);
  EXPECT_EQ(refused(0), 0u) << ReadFile(server_.log);
  hello.device_id = View(site_.key(0).device_id);
  hello.abilities.features = kFeatureDescription;
  EXPECT_TRUE(IsError(taker->Ask(hello), ErrorCode::kModelMismatch));
  EXPECT_TRUE(Eventually([&] { return refused(0) == 1; })) << ReadFile(server_.log);
}

// SECURITY.md S11.
TEST_F(LiveProtocolTest, AFrameOfImpossibleLengthEndsTheConnection) {
  for (const uint8_t byte : {uint8_t{0x00}, uint8_t{0xff}}) {
    const std::unique_ptr<Caller> caller = Connected(0);
    const uint8_t header[kFrameHeaderSize] = {byte, byte};
    ASSERT_EQ(caller->Send(header), Status::kOk);
    EXPECT_TRUE(caller->IsClosedWithin(kHangsUpMs)) << "before its time is over";
  }
}

TEST_F(LiveProtocolTest, AFrameThatBreaksOffIsForgotten) {
  for (size_t i = 0; i < site_.devices(); ++i) {
    const std::unique_ptr<Caller> caller = Connected(i);
    const uint8_t begun[] = {50, 0, 10, 20};
    ASSERT_EQ(caller->Send(begun), Status::kOk);
    caller->stream().Close();
  }
}

// SECURITY.md S11.
TEST_F(LiveProtocolTest, WhatIsNoMessageIsAnErrorAndTheConnectionStays) {
  const std::unique_ptr<Caller> caller = Connected(0);
  const uint8_t frame[] = {4, 0, 0xff, 0xff, 0xff, 0xff};
  ASSERT_EQ(caller->Send(frame), Status::kOk);
  Reply reply;
  ASSERT_EQ(caller->Receive(&reply), Status::kOk);
  EXPECT_TRUE(IsError(reply, ErrorCode::kMalformed));
  EXPECT_NE(caller->Hello().kind, Reply::Kind::kError);
}

TEST_F(LiveProtocolTest, AChunkOfNothingAnnouncedIsRefused) {
  TrainTask task;
  const std::unique_ptr<Caller> caller = Drawn(&task);
  EXPECT_TRUE(IsError(caller->Ask(Caller::Chunk(0, kZeroUpdate, true)), ErrorCode::kWrongAttempt));
}

TEST_F(LiveProtocolTest, WhoWasNotDrawnGetsNoModelAndGivesNoUpdate) {
  size_t refused = 0;
  for (size_t i = 0; i < site_.devices(); ++i) {
    const std::unique_ptr<Caller> caller = Connected(i);
    if (caller->Hello().kind != Reply::Kind::kWait) continue;
    ++refused;
    EXPECT_TRUE(IsError(caller->Ask(GetModel()), ErrorCode::kNotSelected));
    EXPECT_TRUE(IsError(caller->Ask(Caller::Begin({}, kNonce)), ErrorCode::kNotSelected));
    EXPECT_TRUE(IsError(caller->Ask(Caller::Chunk(0, kZeroUpdate, true)), ErrorCode::kNotSelected));
  }
  EXPECT_EQ(refused, 1u);
}

TEST_F(LiveProtocolTest, AnUpdateForAnotherRoundAttemptOrJobIsRefused) {
  TrainTask task;
  const std::unique_ptr<Caller> caller = Drawn(&task);
  TrainTask other = task;
  ++other.round;
  EXPECT_TRUE(IsError(caller->Ask(Caller::Begin(other, kNonce)), ErrorCode::kWrongAttempt));
  other = task;
  ++other.attempt;
  EXPECT_TRUE(IsError(caller->Ask(Caller::Begin(other, kNonce)), ErrorCode::kWrongAttempt));
  other = task;
  other.job_id[0] ^= 1;
  EXPECT_TRUE(IsError(caller->Ask(Caller::Begin(other, kNonce)), ErrorCode::kWrongAttempt));
}

TEST_F(LiveProtocolTest, AnUpdateOfImpossibleSizeIsRefused) {
  TrainTask task;
  const std::unique_ptr<Caller> caller = Drawn(&task);
  const std::vector<uint8_t> bytes(MaxUpdateSize(7850, task.format) + 1);
  EXPECT_TRUE(IsError(caller->Upload(task, kNonce, View(bytes)), ErrorCode::kTooLarge));
}

// SECURITY.md S14.
TEST_F(LiveProtocolTest, TheSameUpdateAgainIsAcknowledgedAndAnotherOneIsAConflict) {
  TrainTask task;
  const std::unique_ptr<Caller> caller = Drawn(&task);
  EXPECT_TRUE(caller->Upload(task, kNonce, kZeroUpdate).complete);
  const Reply again = caller->Ask(Caller::Begin(task, kNonce));
  EXPECT_EQ(again.kind, Reply::Kind::kAck);
  EXPECT_TRUE(again.complete);
  EXPECT_TRUE(IsError(caller->Ask(Caller::Begin(task, kOtherNonce)), ErrorCode::kConflict));
}

// It may ask in as many sessions as it likes.
// SECURITY.md S31.
TEST_F(LiveProtocolTest, ADeviceGetsOneSaltInAnAttemptAndNoOtherForAnotherNonce) {
  TrainTask task;
  std::unique_ptr<Caller> caller = Drawn(&task);
  ASSERT_EQ(caller->Hello({}, 0, kFeatureSalt).kind, Reply::Kind::kTrain);
  const Reply first = caller->Ask(Caller::Begin(task, kNonce));
  ASSERT_TRUE(first.salt.is_there);
  const posix::DeviceKey& key = caller->key();
  caller = std::make_unique<Caller>(server_.port, key);
  ASSERT_EQ(caller->Connect(), Status::kOk);
  ASSERT_EQ(caller->Hello({}, 0, kFeatureSalt).kind, Reply::Kind::kTrain);
  EXPECT_EQ(ToHex(caller->Ask(Caller::Begin(task, kNonce)).salt.bytes), ToHex(first.salt.bytes));
  EXPECT_TRUE(IsError(caller->Ask(Caller::Begin(task, kOtherNonce)), ErrorCode::kConflict));
  EXPECT_EQ(caller->Hello({}, 0, kFeatureSalt).kind, Reply::Kind::kWait);
  EXPECT_TRUE(IsError(caller->Ask(Caller::Begin(task, kNonce)), ErrorCode::kMalformed));
}

// Random codes of the right length are all possible with probability below 1e-8: a cell leaves
// part of the code's range empty, and there are 7,850 of them. Seed 1.
// SECURITY.md S14.
TEST_F(LiveProtocolTest, GarbageCoefficientsAndAnInvalidScaleAreRefused) {
  constexpr uint8_t kScaleCode = 64;
  std::mt19937 random(1);
  TrainTask task;
  const std::unique_ptr<Caller> first = Drawn(&task);
  std::vector<uint8_t> bytes(lrq::FixedCodeSize(7850, kScaleCode, task.format.dither));
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
  bytes[0] = kScaleCode;
  EXPECT_TRUE(IsError(first->Upload(task, kNonce, View(bytes)), ErrorCode::kMalformed));
  EXPECT_TRUE(IsError(first->Upload(task, kOtherNonce, kZeroUpdate), ErrorCode::kMalformed))
      << "nobody may try until something fits";
  const std::unique_ptr<Caller> second = Drawn(&task);
  bytes[0] = lrq::kMaxScaleCode + 1;
  EXPECT_TRUE(IsError(second->Upload(task, kNonce, View(bytes)), ErrorCode::kMalformed));
}

// SECURITY.md S9.
TEST_F(LiveStallTest, WhoStallsIsHungUpOnAndOthersGoOn) {
  posix::TcpStream in_handshake;
  ASSERT_EQ(in_handshake.Connect(Host().c_str(), server_.port, kPatienceMs), Status::kOk);
  const std::unique_ptr<Caller> before_a_frame = Connected(0);
  const std::unique_ptr<Caller> in_a_frame = Connected(1);
  const uint8_t begun[] = {50, 0, 10};
  ASSERT_EQ(in_a_frame->Send(begun), Status::kOk);
  EXPECT_TRUE(RoundCompletes(site_, server_));
  uint8_t byte[1];
  EXPECT_TRUE(Eventually([&] { return in_handshake.Receive(byte) < 0; }, kHangsUpMs));
  EXPECT_TRUE(before_a_frame->IsClosedWithin(kHangsUpMs));
  EXPECT_TRUE(in_a_frame->IsClosedWithin(kHangsUpMs));
}

// Bytes arrive more often than the server's timeout, but neither the handshake record nor the frame
// is complete before the test gives up.
// SECURITY.md S9.
TEST_F(LiveStallTest, AByteNowAndThenBuysNoTime) {
  posix::TcpStream in_handshake;
  ASSERT_EQ(in_handshake.Connect(Host().c_str(), server_.port, kPatienceMs), Status::kOk);
  const std::unique_ptr<Caller> in_a_frame = Connected(0);
  constexpr int kPauseMs = 200;
  const uint8_t client_hello[256] = {22, 3, 1, 1, 0, 1, 0, 0, 252, 3, 3};
  const uint8_t frame[256] = {200, 0, 10};
  bool handshake_is_over = false;
  bool frame_is_over = false;
  for (size_t i = 0; i * kPauseMs < kHangsUpMs && !(handshake_is_over && frame_is_over); ++i) {
    in_handshake.Send({client_hello + i, 1});
    (void)in_a_frame->Send(ByteSpan(frame + i, 1));
    posix::SleepMs(kPauseMs);
    uint8_t byte[1];
    handshake_is_over = handshake_is_over || in_handshake.Receive(byte) < 0;
    frame_is_over = frame_is_over || in_a_frame->IsClosedWithin(0);
  }
  EXPECT_TRUE(handshake_is_over);
  EXPECT_TRUE(frame_is_over);
}

TEST_F(LiveProtocolTest, GarbageInsteadOfTlsEndsTheConnection) {
  std::mt19937 random(2);
  for (int i = 0; i < 20; ++i) {
    posix::TcpStream stream;
    ASSERT_EQ(stream.Connect(Host().c_str(), server_.port, kPatienceMs), Status::kOk);
    std::vector<uint8_t> bytes(1 + random() % 3000);
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
    stream.Send(View(bytes));
    uint8_t answer[100];
    EXPECT_TRUE(Eventually([&] { return stream.Receive(answer) < 0; }, kHangsUpMs));
  }
}

// Closing a socket with unread bytes resets the connection. This happens while the server waits for
// a request, and while it still writes.
TEST_F(LiveProtocolTest, AResetAmidAnswersStopsNobodyElse) {
  for (int i = 0; i < 10; ++i) {
    TrainTask task;
    const std::unique_ptr<Caller> caller = Drawn(&task);
    for (int request = 0; request < (i % 2 == 0 ? 1 : 3000); ++request) {
      if (caller->Send(GetModel()) != Status::kOk) break;
    }
    posix::SleepMs(static_cast<uint32_t>(10 * i));
    caller->stream().Close();
  }
}

// The answer is written to a connection that the caller has closed with bytes it has not read.
TEST_F(LiveProtocolTest, AnUploadCutBeforeItsAnswerStopsNobodyElse) {
  const std::vector<uint8_t> bytes(1000);
  for (int i = 0; i < 30; ++i) {
    TrainTask task;
    const std::unique_ptr<Caller> caller = Drawn(&task);
    ASSERT_EQ(caller->Send(Caller::Begin(task, kNonce)), Status::kOk);
    ASSERT_EQ(caller->Send(Caller::Chunk(0, View(bytes).first(10), false)), Status::kOk);
    for (int model = 0; model < i % 4; ++model) (void)caller->Send(GetModel());
    caller->stream().Close();
  }
}

// 80 MB of answers that the caller does not read.
// SECURITY.md S9.
TEST_F(LiveStallTest, WhoNeverReadsCostsNoMemoryAndIsHungUpOn) {
  if (idle_files_ == 0) GTEST_SKIP() << "only root may count the files of the server";
  TrainTask task;
  const std::unique_ptr<Caller> caller = Drawn(&task);
  ASSERT_TRUE(Eventually([&] { return server_.open_files() == idle_files_ + 1; }));
  const size_t memory = server_.memory_bytes();
  size_t most = 0;
  for (int i = 0; i < 20000; ++i) {
    if (caller->Send(GetModel()) != Status::kOk) break;
    if (i % 1000 == 0) most = std::max(most, server_.memory_bytes());
  }
  const auto is_gone = [&] {
    most = std::max(most, server_.memory_bytes());
    return server_.open_files() == idle_files_;
  };
  EXPECT_TRUE(Eventually(is_gone, kHangsUpMs));
#ifdef SOTTO_SANITIZED
  constexpr size_t kBuffers = 64 << 20;  // a sanitizer keeps what was freed
#else
  constexpr size_t kBuffers = 16 << 20;
#endif
  EXPECT_LT(most, memory + kBuffers);
}

}  // namespace
}  // namespace sotto::live
