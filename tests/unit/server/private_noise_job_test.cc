// Tests of trust mode private-noise: the SDK's client and the job each check what the other sends.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <stdexcept>

#include "plans/private_noise.h"
#include "unit/privacy/figures.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

JobConfig PrivateConfig(double z = 0.5) {
  JobConfig config = SmallConfig();
  config.plan.private_noise_multiplier = z;
  return config;
}

TEST(PrivateNoiseTask, AsksForNoLessThanThePlanAndHardlyMore) {
  for (double z = 1e-3; z < 15; z *= 1.31) {
    const TrainTask task = PrivateConfig(z).TaskFor(0, SmallConfig().training.clip_l2);
    EXPECT_GE(task.private_noise_multiplier(), z);
    EXPECT_LT(
        (task.private_noise_q20 - 1.0) / task.private_noise_q20 * task.private_noise_multiplier(),
        z);
  }
  EXPECT_EQ(SmallConfig().TaskFor(0, SmallConfig().training.clip_l2).private_noise_q20, 0u);
}

// z = deviation / (2 C), both in the same units.
TEST(PrivateNoiseTask, ComputesTheMultiplierFromWhatItAsksFor) {
  TrainTask task;
  task.quantizer_scale = 0.25f;
  task.training.clip_l2 = 0.5f;
  task.private_noise_q20 = 3 << 20;
  EXPECT_EQ(task.private_noise_multiplier(), 0.75);
}

TEST(PrivateNoiseConfig, RefusesWhatNoDeviceCanEncode) {
  const auto refuses = [](auto change) {
    JobConfig config = PrivateConfig();
    config.Validate();
    change(config);
    EXPECT_THROW(config.Validate(), std::invalid_argument);
  };
  refuses([](JobConfig& c) { c.plan.private_noise_multiplier = 16.1; });  // 64 units
  refuses([](JobConfig& c) { c.plan.private_noise_multiplier = -1; });
  refuses([](JobConfig& c) { c.plan.noise_sigma = 1.0 / 512; });  // C is above 128 units
  refuses([](JobConfig& c) { c.codec = FindCodec("uniform-dither"); });
  refuses([](JobConfig& c) { c.codec = FindCodec("none"); });
}

struct PrivateNoiseTest : testing::Test {
  explicit PrivateNoiseTest() : small(ClosingEarly(PrivateConfig())) {
    EXPECT_TRUE(small.job.OpenRound());
    index = small.job.cohort()[0];
    Start(0);
  }

  // The device anew, as after a reset.
  void Start(uint32_t entropy_stream) {
    device = std::make_unique<SmallDevice>(small.registry[index], index, *small.job.config().model,
                                           entropy_stream);
  }

  Client& client() { return device->client(); }
  Reply Ask() { return small.job.Answer(index, client().request()); }

  void StepToRequest() {
    Client::Progress progress = Client::Progress::kAgain;
    while (progress != Client::Progress::kSend) ASSERT_EQ(client().Step(&progress), Status::kOk);
  }

  void AdvanceTo(Client::State state) {
    StepToRequest();
    while (client().state() != state) {
      ASSERT_EQ(client().OnReply(Ask()), Status::kOk);
      StepToRequest();
    }
  }

  // The device's answer to the task, changed by `change`.
  template <typename Change>
  Status Offer(Change change) {
    StepToRequest();
    Reply reply = Ask();
    EXPECT_EQ(reply.kind, Reply::Kind::kTrain);
    change(reply.task);
    return client().OnReply(reply);
  }

  SmallJob small;
  uint32_t index = 0;
  std::unique_ptr<SmallDevice> device;
};

TEST_F(PrivateNoiseTest, ADeviceRefusesATaskWithLessNoiseThanItsOwnerAsksFor) {
  device->config.min_private_noise_q20 = PrivateNoiseLimitQ20(0.5);
  const auto refuses = [&](auto change) { EXPECT_EQ(Offer(change), Status::kPeerRefused); };
  refuses([](TrainTask& t) { t.private_noise_q20 = 0; });
  refuses([](TrainTask& t) { t.private_noise_q20 -= 1; });
  refuses([](TrainTask& t) { t.training.clip_l2 *= 1.001f; });
  refuses([](TrainTask& t) { t.quantizer_scale *= 0.999f; });
  EXPECT_EQ(Offer([](TrainTask&) {}), Status::kOk);
}

TEST_F(PrivateNoiseTest, ADeviceThatAsksForNoiseTakesNoneOfTheTasksWithoutPrivacy) {
  device->config.min_private_noise_q20 = PrivateNoiseLimitQ20(1e-9);
  device->config.allow_training_without_privacy = true;
  EXPECT_EQ(Offer([](TrainTask& t) {
              t.private_noise_q20 = 0;
              t.format.coding = Coding::kFloat32;
            }),
            Status::kPeerRefused);
}

TEST_F(PrivateNoiseTest, NoiseThatTheFormatCannotCarryIsMalformed) {
  device->config.allow_training_without_privacy = true;
  const auto refuses = [&](auto change) { EXPECT_EQ(Offer(change), Status::kMalformed); };
  refuses([](TrainTask& t) { t.private_noise_q20 = kMaxPrivateNoiseQ20 + 1; });
  refuses([](TrainTask& t) { t.training.clip_l2 = 129 * t.quantizer_scale; });
  refuses([](TrainTask& t) { t.format.dither = DitherKind::kUniform; });
  refuses([](TrainTask& t) { t.format.coding = Coding::kFloat32; });
  refuses([](TrainTask& t) { t.clip_bit_q20 = 1; });
}

TEST(PrivateNoiseLimit, IsAtMostAStepBelowTheMultiplier) {
  for (const double z : {1e-9, 1e-6, 0.4, 0.5, 2.1, 4095.9}) {
    const double limit = PrivateNoiseLimitQ20(z);
    EXPECT_GT(limit, 0);
    EXPECT_GT(limit, z * 0x1p20 - 1);
    EXPECT_LE(limit, std::max(1.0, z * 0x1p20));
  }
  EXPECT_EQ(PrivateNoiseLimitQ20(0), 0u);
  EXPECT_EQ(PrivateNoiseLimitQ20(1e300), UINT32_MAX);
  EXPECT_EQ(PrivateNoiseLimitQ20(-0.5), UINT32_MAX);
  EXPECT_EQ(PrivateNoiseLimitQ20(std::nan("")), UINT32_MAX);
}

struct FaultRun {
  std::vector<float> model;
  uint32_t private_updates = 0;
  int requests = 0;
};

FaultRun RunWithFault(int lose_at, int lose_request_at) {
  SmallJob small(PrivateConfig());
  EXPECT_TRUE(small.job.OpenRound());
  const uint32_t victim = small.job.cohort()[0];
  SmallDevice device(small.registry[victim], victim, *small.job.config().model);
  EXPECT_EQ(device.Run(small.job, victim, lose_at, lose_request_at), Status::kOk);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.reported, 1u);
  return {small.Model(), device.client().private_updates(), device.requests};
}

// A link cut at any message repeats the same bytes: the server never sees a second noise.
TEST(PrivateNoiseClient, ACutLinkAtAnyMessageShowsNoSecondNoise) {
  const FaultRun undisturbed = RunWithFault(-1, -1);
  ASSERT_GE(undisturbed.requests, 6);
  EXPECT_EQ(undisturbed.private_updates, 1u);
  for (int message = 0; message < undisturbed.requests; ++message) {
    for (const FaultRun& fault : {RunWithFault(message, -1), RunWithFault(-1, message)}) {
      EXPECT_EQ(fault.model, undisturbed.model) << message;
      EXPECT_EQ(fault.private_updates, 1u) << message;
    }
  }
}

// The bytes of a device's whole upload.
std::vector<uint8_t> Upload(uint32_t entropy_stream) {
  SmallJob small(PrivateConfig());
  EXPECT_TRUE(small.job.OpenRound());
  const uint32_t index = small.job.cohort()[0];
  SmallDevice device(small.registry[index], index, *small.job.config().model, entropy_stream, 4000);
  Client::Progress progress = Client::Progress::kAgain;
  std::vector<uint8_t> bytes;
  while (bytes.empty()) {
    EXPECT_EQ(device.client().Step(&progress), Status::kOk);
    if (progress != Client::Progress::kSend) continue;
    const Request& request = device.client().request();
    bytes.assign(request.bytes.begin(), request.bytes.end());
    if (!bytes.empty()) break;
    EXPECT_EQ(device.client().OnReply(small.job.Answer(index, request)), Status::kOk);
  }
  return bytes;
}

TEST(PrivateNoiseClient, AResetDeviceDrawsNonceAndNoiseAnew) {
  EXPECT_EQ(Upload(0), Upload(0)) << "the same entropy";
  EXPECT_NE(Upload(0), Upload(1));
}

// Entropy that gives zeros for everything but the first nonce bytes, to tell the two apart.
Status OnlyNonce(void* /*context*/, MutableByteSpan out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = i < kNonceSize ? 7 : 0;
  return Status::kOk;
}

Status NonceAndSeed(void* /*context*/, MutableByteSpan out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = i < kNonceSize ? 7 : 1;
  return Status::kOk;
}

// The server knows the secret and the nonce, and so the dither: the device's own noise must not
// follow from them.
TEST_F(PrivateNoiseTest, TheNoiseDependsOnEntropyThatIsNotSent) {
  std::set<std::vector<uint8_t>> uploads;
  for (const auto entropy : {OnlyNonce, NonceAndSeed}) {
    Start(0);
    device->config.port.entropy = entropy;
    AdvanceTo(Client::State::kUpload);
    const Request& request = client().request();
    uploads.insert({request.bytes.begin(), request.bytes.end()});
  }
  EXPECT_EQ(uploads.size(), 2u);
}

TEST_F(PrivateNoiseTest, ASecondNoisyUpdateInOneAttemptIsNotTaken) {
  AdvanceTo(Client::State::kUpload);
  ASSERT_EQ(client().OnReply(Ask()), Status::kOk);  // some bytes have arrived
  Start(1);
  AdvanceTo(Client::State::kUploadBegin);
  const Reply reply = Ask();
  EXPECT_EQ(reply.kind, Reply::Kind::kError);
  EXPECT_EQ(reply.code, ErrorCode::kConflict);
  EXPECT_EQ(client().OnReply(reply), Status::kPeerRefused);
  // It does not train for this attempt again, and the round does not wait for it.
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  for (size_t i = 1; i < small.job.cohort().size(); ++i) small.Report(small.job.cohort()[i]);
  EXPECT_TRUE(small.job.IsComplete());
  EXPECT_EQ(small.job.CloseRound().topped_up, 1u);
}

TEST_F(PrivateNoiseTest, ADeviceResetBeforeItsUploadMayTrainAgain) {
  AdvanceTo(Client::State::kUploadBegin);  // trained, and not announced
  Start(1);
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

TEST_F(PrivateNoiseTest, AnUpdateWithOtherNoiseThanAskedForIsRefused) {
  AdvanceTo(Client::State::kUploadBegin);
  Request begin = client().request();
  for (const uint32_t noise : {0u, begin.private_noise_q20 + 1}) {
    begin.private_noise_q20 = noise;
    EXPECT_EQ(small.job.Answer(index, begin).code, ErrorCode::kMalformed);
  }
}

// Training that diverges would tell an untrusted server something of the data.
TEST_F(PrivateNoiseTest, ADivergingTrainingIsReportedAsNoise) {
  const auto diverge = [](TrainTask& t) { t.training.learning_rate = 3e38f; };
  ASSERT_EQ(Offer(diverge), Status::kOk);
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(client().private_updates(), 1u);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

// Also if the server is trusted: others must not see it either.
TEST_F(PrivateNoiseTest, ADivergingTrainingWithoutNoiseIsReportedToo) {
  ASSERT_EQ(Offer([](TrainTask& t) {
              t.training.learning_rate = 3e38f;
              t.private_noise_q20 = 0;
            }),
            Status::kOk);
  // The server refuses an update without the noise that it asked for, but the device sends one.
  EXPECT_EQ(device->Run(small.job, index), Status::kPeerRefused);
  EXPECT_EQ(client().local_round().failure(), Status::kNotFinite);
  EXPECT_EQ(client().private_updates(), 0u);
}

// An attempt that is given up costs the released models nothing, but the server has seen its
// updates.
TEST(PrivateNoiseJob, ChargesEveryAttemptAgainstTheServer) {
  JobConfig config = PrivateConfig();
  config.min_devices = 2;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  small.Report(small.job.cohort()[0]);
  ASSERT_FALSE(small.job.CloseRound().released);
  small.ReportAll();
  const RoundOutcome outcome = small.job.CloseRound();
  ASSERT_TRUE(outcome.released);
  EXPECT_EQ(outcome.spent.rounds, 1);
  EXPECT_EQ(ServerEpsilon(outcome.spent), privacy::GuaranteeAgainstServer(config.plan, 2).epsilon);
  EXPECT_EQ(ServerUpdateEpsilon(outcome.spent),
            privacy::GuaranteeAgainstServer(config.plan, 1).epsilon);
}

}  // namespace
}  // namespace sotto::server
