// Tests of a job's answers to devices that take models as differences, and to those that do not.
#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

#include "base/bytes.h"
#include "unit/server/downloading.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// A job and devices that say what they hold.
struct DownloadJob : SmallJob {
  explicit DownloadJob(const JobConfig& config = SmallGridConfig())
      : SmallJob(config), holders(kSmallDevices, Holder(*config.model)) {}

  Reply SayHello(uint32_t device) {
    Request hello = Hello(job);
    hello.abilities.features = kFeatureDifferences;
    hello.held = holders[device].held();
    return job.Answer(device, hello);
  }

  Holder::Ask As(uint32_t device) {
    return [this, device](const Request& request) { return job.Answer(device, request); };
  }

  // All of the cohort take the round's model and report.
  void Round() {
    ASSERT_TRUE(job.OpenRound());
    for (const uint32_t device : job.cohort()) {
      const Reply train = SayHello(device);
      ASSERT_EQ(train.kind, Reply::Kind::kTrain);
      holders[device].Take(train.model, As(device));
      EXPECT_EQ(holders[device].parameters(), Model());
      Report(device);
    }
    EXPECT_TRUE(job.CloseRound().released);
  }

  std::vector<Holder> holders;
};

TEST(Download, EachDeviceHasTheRoundsModelWhateverItHeld) {
  DownloadJob small;
  for (int round = 0; round < 3; ++round) small.Round();
  EXPECT_FALSE(small.job.OpenRound());
}

TEST(Download, AReleasedModelOfAJobWithAGridIsACode) {
  DownloadJob small;
  small.Round();
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t device = small.job.cohort()[0];
  const ModelOffer offer = small.SayHello(device).model;
  EXPECT_NE(offer.grid, 0u);
  EXPECT_LT(offer.size, 4u * 650);
  EXPECT_EQ(offer.size % kDownloadPadding, 0u);
}

TEST(Download, AJobWithoutAGridSendsFloat32WithACheck) {
  DownloadJob small(SmallConfig());
  for (int round = 0; round < 3; ++round) small.Round();
  EXPECT_EQ(small.holders[small.job.cohort()[0]].bytes(), 4u * 650);
}

TEST(Download, ADeviceWithoutTheFeatureGetsNoOfferAndFloat32) {
  DownloadJob small;
  small.Round();
  ASSERT_TRUE(small.job.OpenRound());
  const uint32_t device = small.job.cohort()[0];
  const Reply train = AskForWork(small.job, device);
  ASSERT_EQ(train.kind, Reply::Kind::kTrain);
  EXPECT_TRUE(train.model.check.empty());
  Request request;
  request.kind = Request::Kind::kGetModel;
  const Reply chunk = small.job.Answer(device, request);
  ASSERT_EQ(chunk.kind, Reply::Kind::kModelChunk);
  const std::vector<float> got = FloatsOf(chunk.bytes);
  EXPECT_EQ(got, small.Model());
  request.offset = 2;
  EXPECT_EQ(small.job.Answer(device, request).code, ErrorCode::kMalformed);
}

TEST(Download, CodesAreForEveryDeviceAtEveryTime) {
  DownloadJob small;
  small.Round();
  ASSERT_TRUE(small.job.OpenRound());
  const ModelOffer offer = small.job.codes()->Offer({});
  std::vector<uint32_t> others;
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    const auto& cohort = small.job.cohort();
    if (std::find(cohort.begin(), cohort.end(), device) == cohort.end()) others.push_back(device);
  }
  Holder(*small.job.config().model).Take(offer, small.As(others[0]));
  small.job.Suspend();
  Holder(*small.job.config().model).Take(offer, small.As(others[0]));
  small.job.Proceed();
  small.job.End(Halt::kOperator, "stopped");
  Holder(*small.job.config().model).Take(offer, small.As(others[0]));
}

TEST(Download, AFetchIsNoCheckIn) {
  DownloadJob small;
  small.Round();
  ASSERT_TRUE(small.job.OpenRound());
  const ModelOffer offer = small.job.codes()->Offer({});
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    Holder(*small.job.config().model).Take(offer, small.As(device));
  }
  // The cohort of the round before, and no other device.
  EXPECT_EQ(small.job.CloseUploads().counts.checked_in, 4u);
}

TEST(Download, AnUnknownCodeAndAnOffsetBehindTheEndAreRefused) {
  DownloadJob small;
  small.Round();
  ASSERT_TRUE(small.job.OpenRound());
  const ModelOffer offer = small.job.codes()->Offer({});
  Request request;
  request.kind = Request::Kind::kGetModel;
  request.code = offer.code + 1;
  Reply reply = small.job.Answer(0, request);
  EXPECT_TRUE(IsFinalError(reply));
  EXPECT_EQ(reply.code, ErrorCode::kWrongAttempt);
  request.code = offer.code;
  request.offset = offer.size;
  reply = small.job.Answer(0, request);
  EXPECT_TRUE(IsFinalError(reply));
  EXPECT_EQ(reply.code, ErrorCode::kMalformed);
}

// Until a release is shown, devices see the one before it. A server that publishes at a set time
// must not be hastened.
TEST(Download, AReleaseIsShownByItsPublication) {
  DownloadJob small;
  small.Round();
  const ModelOffer before = small.job.codes()->Offer({});
  const std::vector<uint8_t> check(before.check.begin(), before.check.end());
  uint8_t released[kModelCheckSize];
  ASSERT_EQ(ModelCheck(small.job.parameters(), released), Status::kOk);
  const std::vector<uint8_t> newest(released, released + kModelCheckSize);
  EXPECT_NE(check, newest);
  small.job.ShowRelease();
  const ModelOffer after = small.job.codes()->Offer({});
  EXPECT_EQ(std::vector<uint8_t>(after.check.begin(), after.check.end()), newest);
}

TEST(Download, AResumedJobKnowsWhatDevicesHold) {
  DownloadJob small;
  small.Round();
  small.Round();
  RecordingStore store;
  Job resumed(SmallGridConfig(), small.registry, store, Key{{9}}, small.job.State());
  const uint32_t device = small.job.cohort()[0];
  EXPECT_EQ(resumed.codes()->Offer(small.holders[device].held()).base, ModelBase::kHeld);
}

}  // namespace
}  // namespace sotto::server
