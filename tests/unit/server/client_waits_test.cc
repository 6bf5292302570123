// How long the SDK's client waits: until the next round, after an error or a refusal, when its
// server makes no progress, and for the report time.
#include <algorithm>
#include <gtest/gtest.h>
#include <memory>

#include "unit/sdk/hex.h"
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
TEST_F(ClientTest, ATrainingThatTheOwnerGivesUpIsSentAsZeros) {
  AdvanceTo(Client::State::kDownload);
  ASSERT_EQ(device->client().OnReply(small.job.Answer(index, device->client().request())),
            Status::kOk);
  ASSERT_EQ(device->client().state(), Client::State::kTrain);
  device->client().GiveTrainingUp();
  ASSERT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(device->client().local_round().failure(), Status::kTooLate);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

TEST_F(ClientTest, ADeviceThatStaysSaysSoInItsFeatures) {
  for (const bool stays : {false, true}) {
    SmallDevice each(small.registry[index], index, *small.job.config().model);
    each.config.stays = stays;
    Client::Progress progress = Client::Progress::kAgain;
    ASSERT_EQ(each.client().Step(&progress), Status::kOk);
    EXPECT_EQ((each.client().request().abilities.features & kFeatureStays) != 0, stays);
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
    expected = std::min(2 * expected, 8000u);  // with a server that waits for 10 s
  }
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 50, 0), kShortestWaitMs);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 700, 0), 700u);
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 0), RetryPace::kFirstMs) << "the doubling began anew";
}

TEST_F(HeldClientTest, AKeyThatWasTakenFromItEndsItAndAnotherMachineDoesNot) {
  for (const ErrorCode code : {ErrorCode::kOtherMachine, ErrorCode::kKeyRotated}) {
    StepToRequest();
    Reply last;
    last.kind = Reply::Kind::kError;
    last.code = code;
    last.wait_ms = 20000;
    const bool ends = code != ErrorCode::kOtherMachine;
    EXPECT_EQ(device->client().OnReply(last), ends ? Status::kPeerRefused : Status::kOk);
    EXPECT_EQ(device->client().is_refused(), ends);
    Client::Progress progress = Client::Progress::kAgain;
    EXPECT_EQ(device->client().Step(&progress), Status::kOk);
    EXPECT_EQ(progress, Client::Progress::kWait);
    EXPECT_EQ(device->client().wait_ms(), ends ? kRefusedWaitMs : 20000);
  }
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

// The server says what the device waits for, at once, on each link and whenever that changes.
TEST_F(HeldClientTest, NoLostLinkAndNoNewsMakesItSilentForLonger) {
  device->config.hold_ms = 20000;
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 0), RetryPace::kFirstMs) << i;
    StepToRequest();
    now_ms += 300;
    device->client().OnLinkLost();
  }
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 0), RetryPace::kFirstMs);
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 1000), RetryPace::kFirstMs) << i;
  }
  EXPECT_EQ(WaitAfter(Reply::Kind::kWait, 0, 999), 2 * RetryPace::kFirstMs);
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
  EXPECT_EQ(device->client().state(), Client::State::kTrain);  // it holds that model
}

// The same client; its server names a report time with each task.
struct ReportTimeTest : HeldClientTest {
  // The server's answer to the client's request.
  Reply Answer(uint32_t report_ms = 4000) {
    Reply reply = small.job.Answer(index, device->client().request());
    if (reply.kind == Reply::Kind::kTrain) reply.report_ms = report_ms;
    return reply;
  }

  // Exchanges messages until the model is there.
  void Download() {
    StepToRequest();
    while (device->client().state() != Client::State::kTrain) {
      ASSERT_EQ(device->client().OnReply(Answer()), Status::kOk);
      if (device->client().state() != Client::State::kTrain) StepToRequest();
    }
  }

  // Trains to the end; a mini-batch takes step_ms. What the client then wants.
  Client::Progress Train(uint64_t step_ms) {
    Client::Progress progress = Client::Progress::kAgain;
    while (progress == Client::Progress::kAgain) {
      EXPECT_EQ(device->client().Step(&progress), Status::kOk);
      if (device->client().state() == Client::State::kTrain) now_ms += step_ms;
    }
    return progress;
  }

  // From the announcement of the update until the server has all of it.
  void Upload() {
    StepToRequest();
    for (bool is_sent = false; !is_sent;) {
      const Reply reply = Answer();
      ASSERT_EQ(reply.kind, Reply::Kind::kAck);
      ASSERT_EQ(device->client().OnReply(reply), Status::kOk);
      is_sent = reply.complete;
      now_ms += 500;
      if (!is_sent) StepToRequest();
    }
  }
};

TEST_F(ReportTimeTest, ADeviceSaysThatItKeepsToAReportTime) {
  StepToRequest();
  EXPECT_NE(device->client().request().abilities.features & kFeatureReportTime, 0u);
}

// However long the training took: 6 mini-batches of 1 or of 100 ms.
TEST_F(ReportTimeTest, AnUpdateIsAnnouncedAtItsTimeAndNotBefore) {
  for (const uint64_t step_ms : {1, 100}) {
    device = std::make_unique<SmallDevice>(small.registry[index], index, *small.job.config().model);
    device->config.port.now_ms = [](void*) { return now_ms; };
    Download();
    const uint64_t began_ms = now_ms;
    ASSERT_EQ(Train(step_ms), Client::Progress::kWait);
    EXPECT_EQ(device->client().state(), Client::State::kUploadBegin);
    EXPECT_EQ(now_ms + device->client().wait_ms(), began_ms + 4000);
    now_ms += device->client().wait_ms() - 1;
    Client::Progress progress = Client::Progress::kAgain;
    ASSERT_EQ(device->client().Step(&progress), Status::kOk);
    ASSERT_EQ(progress, Client::Progress::kWait) << "woken a millisecond early";
    EXPECT_EQ(device->client().wait_ms(), 1u);
    now_ms += 1;
    ASSERT_EQ(device->client().Step(&progress), Status::kOk);
    ASSERT_EQ(progress, Client::Progress::kSend);
    EXPECT_EQ(device->client().request().kind, Request::Kind::kUpdateBegin);
    EXPECT_EQ(device->client().local_round().failure(), Status::kOk);
  }
}

TEST_F(ReportTimeTest, ATrainingThatIsNotFinishedSendsZerosAtTheSameTime) {
  Download();
  const uint64_t began_ms = now_ms;
  ASSERT_EQ(Train(1500), Client::Progress::kWait);
  EXPECT_EQ(now_ms - began_ms, 3000u) << "three quarters, at the end of a mini-batch";
  EXPECT_EQ(now_ms + device->client().wait_ms(), began_ms + 4000);
  EXPECT_EQ(device->client().local_round().failure(), Status::kTooLate);
  EXPECT_EQ(device->client().local_round().steps(), 2u);
  EXPECT_TRUE(device->client().clipped()) << "as after every training that fails";
  const ClientBuffers buffers = device->buffers();
  for (const float value : buffers.update) ASSERT_EQ(value, 0.0f);
  now_ms = began_ms + 4000;
  Upload();
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

// However long the encoder worked.
TEST_F(ReportTimeTest, TheFirstBytesLeaveAtTheirTimeAndNotBefore) {
  Download();
  const uint64_t began_ms = now_ms;
  ASSERT_EQ(Train(1), Client::Progress::kWait);
  now_ms = began_ms + 4000;
  StepToRequest();
  ASSERT_EQ(device->client().OnReply(Answer()), Status::kOk);
  now_ms += 100;
  Client::Progress progress = Client::Progress::kAgain;
  ASSERT_EQ(device->client().Step(&progress), Status::kOk);
  ASSERT_EQ(progress, Client::Progress::kWait);
  EXPECT_EQ(device->client().wait_ms(), 400u);
  now_ms += 400;
  StepToRequest();
  EXPECT_EQ(device->client().request().kind, Request::Kind::kUpdateChunk);
}

// The link may go while the device waits; the first task's time stays.
TEST_F(ReportTimeTest, AResumedAttemptKeepsItsTime) {
  Download();
  const uint64_t began_ms = now_ms;
  ASSERT_EQ(Train(1), Client::Progress::kWait);
  const std::string nonce = ToHex(device->client().local_round().nonce());
  device->client().OnLinkLost();
  now_ms = began_ms + 3000;
  StepToRequest();
  ASSERT_EQ(device->client().request().kind, Request::Kind::kHello);
  ASSERT_EQ(device->client().OnReply(Answer(9000)), Status::kOk);
  Client::Progress progress = Client::Progress::kAgain;
  ASSERT_EQ(device->client().Step(&progress), Status::kOk);
  ASSERT_EQ(progress, Client::Progress::kWait);
  EXPECT_EQ(device->client().wait_ms(), 1000u);
  now_ms = began_ms + 4000;
  StepToRequest();
  EXPECT_EQ(ToHex(device->client().request().nonce), nonce);
}

// A task of the next round without a time has none left of this one.
TEST_F(ReportTimeTest, WithoutAReportTimeItUploadsAtOnce) {
  StepToRequest();
  ASSERT_EQ(device->client().OnReply(Answer(1)), Status::kOk);
  ++now_ms;
  StepToRequest();
  Reply given_up;
  given_up.kind = Reply::Kind::kError;
  given_up.final = true;
  EXPECT_EQ(device->client().OnReply(given_up), Status::kPeerRefused);
  StepToRequest();
  ASSERT_EQ(device->client().OnReply(Answer(0)), Status::kOk);
  StepToRequest();
  while (device->client().state() == Client::State::kDownload) {
    ASSERT_EQ(device->client().OnReply(Answer()), Status::kOk);
    ASSERT_NE(Train(100000), Client::Progress::kWait);
  }
  EXPECT_EQ(device->client().request().kind, Request::Kind::kUpdateBegin);
  EXPECT_EQ(device->client().local_round().failure(), Status::kOk);
}

// A job with a report time, by the server's own clock.
struct TimedJobTest : ClientTest {
  TimedJobTest() : ClientTest(Config(3600000)) {}

  static JobConfig Config(uint32_t report_after_ms) {
    JobConfig config = SmallConfig();
    config.process.report_after_ms = report_after_ms;
    return config;
  }
};

TEST_F(TimedJobTest, ATaskHasTheTimeThatIsLeft) {
  EXPECT_EQ(small.store.attempts.size(), 1u);
  StepToRequest();
  const Reply reply = small.job.Answer(index, device->client().request());
  ASSERT_EQ(reply.kind, Reply::Kind::kTrain);
  EXPECT_LE(reply.report_ms, 3600000u);
  EXPECT_GT(reply.report_ms, 3000000u);
}

TEST(TimedJob, ATaskThatComesAfterTheReportTimeHasAMillisecond) {
  SmallJob small(TimedJobTest::Config(1));
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  SmallDevice device(small.registry[index], index, *small.job.config().model);
  Client::Progress progress = Client::Progress::kAgain;
  ASSERT_EQ(device.client().Step(&progress), Status::kOk);
  const uint64_t until_ms = posix::SystemPort().now_ms(nullptr) + 3;
  while (posix::SystemPort().now_ms(nullptr) < until_ms) {
  }
  EXPECT_EQ(small.job.Answer(index, device.client().request()).report_ms, 1u);
}

}  // namespace
}  // namespace sotto::server
