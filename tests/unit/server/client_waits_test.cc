// How long the SDK's client waits: until the next round, after an error or a refusal, and when its
// server makes no progress.
#include <algorithm>
#include <gtest/gtest.h>

#include "unit/server/client_fixture.h"

namespace sotto::server {
namespace {

TEST_F(ClientTest, AReportingDeviceWaitsForTheNextRound) {
  ASSERT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(device->client().wait_ms(), 1000u);
  EXPECT_EQ(device->client().state(), Client::State::kHello);
  EXPECT_GT(device->client().mean_loss(), 1.0f);
}

TEST_F(ClientTest, FinalErrorsEndTheRoundOthersAreRetriedLater) {
  AdvanceTo(Client::State::kUpload);
  Reply reply;
  reply.kind = Reply::Kind::kError;
  reply.wait_ms = 250;
  ASSERT_EQ(device->client().OnReply(reply), Status::kOk);
  Client::Progress progress = Client::Progress::kAgain;
  ASSERT_EQ(device->client().Step(&progress), Status::kOk);
  EXPECT_EQ(progress, Client::Progress::kWait);
  EXPECT_EQ(device->client().wait_ms(), 250u);
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);

  ASSERT_TRUE(small.job.OpenRound());
  StepToRequest();
  reply.final = true;
  EXPECT_EQ(device->client().OnReply(reply), Status::kPeerRefused);
}

// Whatever is refused for good: its model, its version, or by itself a task without privacy.
TEST_F(ClientTest, ARefusedDeviceSaysSoAndDoesNotSpin) {
  StepToRequest();
  Reply too_little = small.job.Answer(index, device->client().request());
  ASSERT_EQ(too_little.kind, Reply::Kind::kTrain);
  too_little.task.format.dither = DitherKind::kUniform;
  Reply other_version;
  other_version.kind = Reply::Kind::kError;
  other_version.code = ErrorCode::kVersion;
  other_version.final = true;
  Reply other_model = other_version;
  other_model.code = ErrorCode::kModelMismatch;
  Reply conflict = other_version;
  conflict.code = ErrorCode::kConflict;  // this round is over for the device, and no other one
  for (const Reply& reply : {conflict, other_version, other_model, too_little}) {
    SmallDevice each(small.registry[index], index, *small.job.config().model);
    Client& client = each.client();
    Client::Progress progress = Client::Progress::kAgain;
    ASSERT_EQ(client.Step(&progress), Status::kOk);
    ASSERT_EQ(progress, Client::Progress::kSend);
    EXPECT_EQ(client.OnReply(reply), Status::kPeerRefused);
    const bool for_good = reply.code != ErrorCode::kConflict;
    EXPECT_EQ(client.is_refused(), for_good) << ErrorCodeName(reply.code);
    if (!for_good) continue;
    ASSERT_EQ(client.Step(&progress), Status::kOk);
    EXPECT_EQ(progress, Client::Progress::kWait);
    EXPECT_EQ(client.wait_ms(), kRefusedWaitMs);
    ASSERT_EQ(client.Step(&progress), Status::kOk);
    EXPECT_EQ(progress, Client::Progress::kSend) << "it asks again";
  }
}
// A client on a clock of the test's own, and a server that says what the test wants.
struct HeldClientTest : ClientTest {
  HeldClientTest() {
    device->config.port.now_ms = [](void*) { return now_ms; };
    now_ms = 5;
  }

  // What the device waits after this answer to its next request, which was kept open for held_ms.
  uint32_t WaitAfter(Reply::Kind kind, uint32_t asked_ms, uint32_t held_ms) {
    StepToRequest();
    Reply reply;
    reply.kind = kind;
    reply.code = ErrorCode::kBusy;
    reply.wait_ms = asked_ms;
    now_ms += held_ms;
    EXPECT_EQ(device->client().OnReply(reply), Status::kOk);
    Client::Progress progress = Client::Progress::kAgain;
    EXPECT_EQ(device->client().Step(&progress), Status::kOk);
    EXPECT_EQ(progress, Client::Progress::kWait);
    return device->client().wait_ms();
  }

  static uint64_t now_ms;
};
uint64_t HeldClientTest::now_ms = 0;

TEST_F(HeldClientTest, AServerThatSaysAtOnceDoesNotMakeItSpin) {
  device->config.hold_ms = 20000;
  uint32_t expected = RetryPace::kFirstMs;
  for (int i = 0; i < 12; ++i) {
    const Reply::Kind kind = i % 2 == 0 ? Reply::Kind::kWait : Reply::Kind::kError;
    EXPECT_EQ(WaitAfter(kind, i % 3 == 0 ? 1 : 0, i), expected) << i;
    expected = std::min(2 * expected, RetryPace::kLastMs);
  }
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 50, 0), kShortestWaitMs);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 700, 0), 700u);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 0), RetryPace::kFirstMs) << "the doubling began anew";
}

TEST_F(HeldClientTest, AfterAHelloThatWasHeldItAsksAgainAtOnce) {
  device->config.hold_ms = 20000;
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 20000), 0u);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 15000), 0u);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 14999), RetryPace::kFirstMs);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 0), 2 * RetryPace::kFirstMs);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 15000), 0u);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 0), RetryPace::kFirstMs) << "the doubling began anew";
}

TEST_F(HeldClientTest, AServerHoldsNoLongerThanAMinute) {
  device->config.hold_ms = 3600000;
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, kMostHoldMs), 0u);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, kMostHoldMs / 2), RetryPace::kFirstMs);
}

TEST_F(HeldClientTest, ADeviceThatPollsIsNeverToldToAskAtOnce) {
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 100000), RetryPace::kFirstMs);
}

// It would send the same bytes again and again, as fast as its link carries them.
TEST_F(HeldClientTest, AnUploadThatDoesNotMoveIsSlowedDown) {
  AdvanceTo(Client::State::kUpload);
  for (const uint32_t expected : {1000u, 2000u, 4000u}) {
    Reply ack;
    ack.kind = Reply::Kind::kAck;
    ack.offset = device->client().request().offset;
    ASSERT_EQ(device->client().OnReply(ack), Status::kOk);
    Client::Progress progress = Client::Progress::kAgain;
    ASSERT_EQ(device->client().Step(&progress), Status::kOk);
    ASSERT_EQ(progress, Client::Progress::kWait);
    EXPECT_EQ(device->client().wait_ms(), expected);
    StepToRequest();
  }
  EXPECT_EQ(device->client().state(), Client::State::kUpload);
}

// A server that gives the same task for ever made a device train it 1,500 times a second.
TEST_F(HeldClientTest, AnAttemptThatItHasSentIsNotTrainedAgain) {
  StepToRequest();
  Reply train = small.job.Answer(index, device->client().request());
  ASSERT_EQ(train.kind, Reply::Kind::kTrain);
  train.receipt = {};
  ASSERT_EQ(device->client().OnReply(train), Status::kOk);
  AdvanceTo(Client::State::kUploadBegin);
  Reply ack;
  ack.kind = Reply::Kind::kAck;
  ack.complete = true;
  ASSERT_EQ(device->client().OnReply(ack), Status::kOk);
  Client::Progress progress = Client::Progress::kAgain;
  for (const uint32_t expected : {1000u, 2000u, 4000u}) {
    StepToRequest();
    ASSERT_EQ(device->client().request().kind, Request::Kind::kHello);
    ASSERT_EQ(device->client().OnReply(train), Status::kOk);
    EXPECT_EQ(device->client().state(), Client::State::kHello);
    ASSERT_EQ(device->client().Step(&progress), Status::kOk);
    ASSERT_EQ(progress, Client::Progress::kWait);
    EXPECT_EQ(device->client().wait_ms(), expected);
  }
  ++train.task.attempt;
  StepToRequest();
  ASSERT_EQ(device->client().OnReply(train), Status::kOk);
  EXPECT_EQ(device->client().state(), Client::State::kDownload);
}

}  // namespace
}  // namespace sotto::server
