#include "round/job.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdexcept>

#include "privacy/calibration.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

// The uploads of one device, played by hand.
struct Upload {
  TrainTask task;
  std::vector<uint8_t> nonce = std::vector<uint8_t>(kNonceSize, 0x33);
  std::vector<uint8_t> bytes;

  Request Begin() const {
    Request request;
    request.kind = Request::Kind::kUpdateBegin;
    request.job_id = task.job_id;
    request.round = task.round;
    request.attempt = task.attempt;
    request.nonce = {nonce.data(), nonce.size()};
    request.coding = task.format.coding;
    return request;
  }
  Request Chunk(size_t offset, size_t size) const {
    Request request;
    request.kind = Request::Kind::kUpdateChunk;
    request.offset = static_cast<uint32_t>(offset);
    request.bytes = {bytes.data() + offset, size};
    request.last = offset + size == bytes.size();
    return request;
  }
};

Request Hello(const Job& job) {
  static uint8_t digest[kSha256Size];
  EXPECT_EQ(ModelDigest(*job.config().model, digest), Status::kOk);
  Request request;
  request.kind = Request::Kind::kHello;
  request.model_digest = digest;
  return request;
}

bool IsFinalError(const Reply& reply) { return reply.kind == Reply::Kind::kError && reply.final; }

TEST(Job, ReleasesAllRoundsOfThePlanAndFinishes) {
  SmallJob small;
  for (uint32_t round = 0; round < 3; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
    EXPECT_EQ(small.job.cohort().size(), 4u);
    small.ReportAll();
    const RoundOutcome outcome = small.job.CloseRound();
    EXPECT_TRUE(outcome.released);
    EXPECT_EQ(outcome.round, round);
    EXPECT_EQ(outcome.reported, 4u);
    EXPECT_EQ(outcome.topped_up, 0u);
    EXPECT_EQ(outcome.update_bytes, 4 * kDefaultPadding);
    EXPECT_EQ(outcome.spent.rounds, round + 1);
  }
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(small.job.phase(), Job::Phase::kFinished);
  EXPECT_EQ(small.job.Answer(0, Hello(small.job)).kind, Reply::Kind::kDone);
  ASSERT_EQ(small.store.releases.size(), 3u);
  EXPECT_EQ(small.store.models.back(), small.Model());
  EXPECT_LT(small.store.releases[0].spent.epsilon, small.store.releases[2].spent.epsilon);
}

// The sum's size is read off the sum, which is charged whatever is made of it.
TEST(Job, ASumTooLargeForTheModelIsReleasedAndChargedAndEndsTheJob) {
  JobConfig config = SmallConfig();
  config.server_learning_rate = 1e300;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  const std::vector<float> before = small.Model();
  small.ReportAll();
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_TRUE(outcome.released);
  EXPECT_TRUE(outcome.diverged);
  EXPECT_EQ(outcome.spent.rounds, 1);
  EXPECT_EQ(small.Model(), before);
  ASSERT_EQ(small.store.releases.size(), 1u);
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_NE(small.job.finish_reason().find("training diverged"), std::string::npos);
}

TEST(Job, ModelDoesNotDependOnTheOrderOfArrival) {
  SmallJob forward;
  SmallJob backward;
  ASSERT_TRUE(forward.job.OpenRound());
  ASSERT_TRUE(backward.job.OpenRound());
  forward.ReportAll();
  backward.ReportAll(true);
  ASSERT_TRUE(forward.job.CloseRound().released);
  ASSERT_TRUE(backward.job.CloseRound().released);
  EXPECT_EQ(forward.Model(), backward.Model());
}

TEST(Job, OnlyTheCohortIsInvited) {
  SmallJob small;
  EXPECT_EQ(small.job.Answer(0, Hello(small.job)).kind, Reply::Kind::kWait);
  ASSERT_TRUE(small.job.OpenRound());
  size_t invited = 0;
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    const Reply reply = small.job.Answer(device, Hello(small.job));
    invited += reply.kind == Reply::Kind::kTrain ? 1 : 0;
    Request model;
    model.kind = Request::Kind::kGetModel;
    EXPECT_EQ(IsFinalError(small.job.Answer(device, model)), reply.kind != Reply::Kind::kTrain);
  }
  EXPECT_EQ(invited, small.job.cohort().size());
}

TEST(Job, AnotherModelsDigestIsRefused) {
  SmallJob small;
  Request hello = Hello(small.job);
  const uint8_t other[kSha256Size] = {};
  hello.model_digest = other;
  EXPECT_TRUE(IsFinalError(small.job.Answer(0, hello)));
}

TEST(Job, AnAttemptIsCommittedBeforeADeviceHearsOfIt) {
  SmallJob small;
  small.store.fail = true;
  EXPECT_THROW(small.job.OpenRound(), std::runtime_error);
  EXPECT_NE(small.job.phase(), Job::Phase::kOpen);
}

TEST(Job, AReleaseThatCannotBeCommittedIsNotReleased) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  small.store.fail = true;
  EXPECT_THROW(small.job.CloseRound(), std::runtime_error);
  EXPECT_EQ(small.job.phase(), Job::Phase::kFinished);
  EXPECT_EQ(small.Model(), std::vector<float>(small.job.config().model->parameters, 0.0f));
}

TEST(Job, TooFewDevicesHeardOfAbortTheAttemptWhichReleasesNothingAndCostsNothing) {
  JobConfig config = SmallConfig();
  config.min_devices = 6;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  EXPECT_FALSE(small.job.IsComplete()) << "more devices may still come by";
  const RoundOutcome aborted = small.job.CloseRound();
  EXPECT_FALSE(aborted.released);
  EXPECT_EQ(aborted.reported, 4u);
  EXPECT_EQ(aborted.heard_of, 4u);
  EXPECT_TRUE(small.store.releases.empty());
  EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
  EXPECT_EQ(small.job.attempt(), 1u);
  ASSERT_EQ(small.store.attempts.size(), 2u);
  EXPECT_EQ(small.store.attempts[1].attempt, 1u);
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    small.job.Answer(device, Hello(small.job));
    small.job.Answer(device, Hello(small.job));
  }
  small.ReportAll();
  EXPECT_TRUE(small.job.IsComplete());
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_TRUE(outcome.released);
  EXPECT_EQ(outcome.heard_of, kSmallDevices);
  EXPECT_EQ(outcome.spent.rounds, 1);
  EXPECT_EQ(outcome.spent.epsilon, privacy::Account(config.plan, 1).epsilon);
  EXPECT_EQ(outcome.spent.epsilon_network, privacy::Account(config.plan, 1).epsilon_network);
}

// Whether a round is released must not depend on who was drawn for it.
TEST(Job, ARoundThatNoDrawnDeviceReportsToIsReleasedAsNoiseAlone) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const std::vector<uint32_t>& drawn = small.job.cohort();
  uint32_t other = 0;
  while (std::find(drawn.begin(), drawn.end(), other) != drawn.end()) ++other;
  EXPECT_EQ(small.job.Answer(other, Hello(small.job)).kind, Reply::Kind::kWait);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_TRUE(outcome.released);
  EXPECT_EQ(outcome.reported, 0u);
  EXPECT_EQ(outcome.topped_up, 4u);
}

// One of twelve devices is up, and cohorts are of four: it is in a third of the releases, as
// amplification by sampling presumes, and not in all of them, as it would be if attempts that it is
// not drawn for were given up. Key of zeros; beyond six deviations: below 1e-8.
TEST(Job, ADeviceThatAloneIsUpIsInNoMoreReleasesThanItIsDrawnFor) {
  constexpr int kRounds = 400;
  JobConfig config = SmallConfig();
  config.plan.rounds = kRounds;
  SmallJob small(config);
  int with_it = 0;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    const bool is_drawn = small.job.Answer(0, Hello(small.job)).kind == Reply::Kind::kTrain;
    ASSERT_TRUE(small.job.CloseRound().released);
    with_it += is_drawn ? 1 : 0;
  }
  EXPECT_NEAR(with_it, kRounds / 3.0, 6 * std::sqrt(kRounds * 2 / 9.0));
}

TEST(Job, ADeviceOfAnotherModelIsNotHeardOf) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  Request hello = Hello(small.job);
  const uint8_t other[kSha256Size] = {};
  hello.model_digest = other;
  small.job.Answer(0, hello);
  EXPECT_EQ(small.job.CloseRound().heard_of, 0u);
}

TEST(Job, GivesUpAfterTheLastAttempt) {
  JobConfig config = SmallConfig();
  config.max_attempts = 2;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.phase(), Job::Phase::kFinished);
  EXPECT_NE(small.job.finish_reason().find("given up after 2"), std::string::npos);
}

TEST(Job, MissingReportsAreToppedUpWithNoise) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.Report(small.job.cohort()[0]);
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_TRUE(outcome.released);
  EXPECT_EQ(outcome.reported, 1u);
  EXPECT_EQ(outcome.topped_up, 3u);
  // Four parts of noise, not one: a sum of squares of 650 coordinates of deviation
  // sqrt(4) 0.2 / 4 = 0.1 has mean 6.5 and deviation 0.36; one part of noise would give 1.6.
  double square = 0;
  for (const float value : small.Model()) square += value * value;
  EXPECT_GT(square, 4.0);
}

TEST(Job, AnAbortDoesNotCountAgainstTheBudget) {
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, 1).epsilon * 1.000001;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
  small.ReportAll();
  EXPECT_TRUE(small.job.CloseRound().released);
  EXPECT_FALSE(small.job.OpenRound());
}

TEST(Job, PrivatePoissonSamplingMustReleaseEveryRound) {
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.min_devices = 1;
  EXPECT_THROW(config.Validate(), std::invalid_argument);
}

// The message names all of these, to four digits.
void ExpectSaid(const std::string& message, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << word << " is not in: " << message;
  }
}

TEST(Job, StopsWhenTheBudgetCannotPayForAnotherRoundAndSaysWhatItWouldCost) {
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, 2).epsilon * 1.000001;
  SmallJob small(config);
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    small.ReportAll();
    ASSERT_TRUE(small.job.CloseRound().released);
  }
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(small.job.Answer(0, Hello(small.job)).kind, Reply::Kind::kDone);
  ExpectSaid(small.job.finish_reason(),
             {"budget", fmt::format("{:.4g}", privacy::Account(config.plan, 2).epsilon),
              fmt::format("{:.4g}", privacy::Account(config.plan, 3).epsilon), "2 of 3 rounds",
              "larger budget"});
}

TEST(Job, WhatEarlierJobsSpentCountsInEveryFigureAndAgainstTheBudget) {
  JobConfig config = SmallConfig();
  config.spent_before = {{config.plan, 2}};
  const double third = privacy::Account(config.plan, 3).epsilon;
  config.epsilon_budget = third * 1.000001;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_NEAR(outcome.spent.epsilon, third, 1e-9 * third);
  EXPECT_GT(outcome.spent.epsilon_network, privacy::Account(config.plan, 1).epsilon_network);
  EXPECT_EQ(outcome.spent.earlier_rounds, 2);
  EXPECT_FALSE(small.job.OpenRound());
  ExpectSaid(small.job.finish_reason(), {"1 of 3 rounds and 2 of earlier jobs"});
}

TEST(Job, ANewJobThatCannotPayForOneRoundIsRefusedAndNotBegun) {
  struct Store : RecordingStore {
    void BeginJob(const JobRecord&) override { ++begun; }
    int begun = 0;
  };
  JobConfig config = SmallConfig();
  config.epsilon_budget = privacy::Account(config.plan, 1).epsilon * 0.99;
  const DeviceRegistry registry = SmallRegistry();
  Store store;
  try {
    const Job job(config, registry, store, Key());
    ADD_FAILURE() << "it was begun";
  } catch (const std::invalid_argument& refusal) {
    ExpectSaid(refusal.what(), {"budget", "epsilon 0 ", "0 of 3 rounds"});
  }
  EXPECT_EQ(store.begun, 0);
}

// A Poisson draw above the cap is never trained on.
TEST(Job, APoissonDrawAboveTheCapIsDrawnAgain) {
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = 4;
  config.plan.rounds = 20;
  config.max_attempts = 50;
  config.min_devices = 0;
  SmallJob small(config);
  bool drawn_again = false;
  while (small.job.OpenRound()) {
    EXPECT_LE(small.job.cohort().size(), 4u);
    drawn_again = drawn_again || small.job.attempt() > 0;
    const size_t drawn = small.job.cohort().size();
    small.ReportAll();
    const RoundOutcome outcome = small.job.CloseRound();
    EXPECT_EQ(outcome.reported, drawn);
    EXPECT_EQ(outcome.topped_up, 4 - drawn);
  }
  EXPECT_TRUE(drawn_again);
}

// Exact updates: the new model is the average of what the devices would have trained alone.
TEST(Job, WithoutAMechanismTheModelIsTheExactAverage) {
  JobConfig config = SmallConfig();
  config.mechanism = Mechanism::kNone;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  std::vector<double> average(config.model->parameters);
  for (const uint32_t index : small.job.cohort()) {
    SmallDevice device(small.registry[index], index, *config.model);
    device.config.allow_training_without_privacy = true;
    ASSERT_EQ(device.Run(small.job, index), Status::kOk);
    // The update stays in the parameter buffer after the upload.
    const ClientBuffers buffers = device.buffers();
    for (size_t j = 0; j < average.size(); ++j) average[j] += buffers.parameters[j] / 4.0;
  }
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_EQ(outcome.topped_up, 0u);
  EXPECT_EQ(outcome.update_bytes, 4u * 4 * config.model->parameters);
  double norm = 0;
  for (size_t j = 0; j < average.size(); ++j) {
    EXPECT_NEAR(small.Model()[j], average[j], 1e-9);
    norm += average[j] * average[j];
  }
  EXPECT_GT(norm, 1e-4);
}

// The divisor of a Poisson round is q N, not the number that was drawn or reported.
TEST(Job, APoissonSumIsDividedByTheExpectedCohort) {
  JobConfig config = SmallConfig();
  config.mechanism = Mechanism::kNone;
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = kSmallDevices;
  config.plan.rounds = 20;
  config.min_devices = 0;
  SmallJob small(config);
  bool was_another_number = false;
  while (!was_another_number && small.job.OpenRound()) {
    const std::vector<float> before = small.Model();
    std::vector<double> sum(before.size());
    for (const uint32_t index : small.job.cohort()) {
      SmallDevice device(small.registry[index], index, *config.model);
      device.config.allow_training_without_privacy = true;
      ASSERT_EQ(device.Run(small.job, index), Status::kOk);
      const ClientBuffers buffers = device.buffers();
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += static_cast<double>(buffers.parameters[j]);
    }
    const size_t drawn = small.job.cohort().size();
    ASSERT_TRUE(small.job.CloseRound().released);
    was_another_number = drawn != 4 && drawn > 0;
    for (size_t j = 0; was_another_number && j < sum.size(); ++j) {
      EXPECT_NEAR(small.Model()[j], before[j] + sum[j] / 4, 1e-7);
    }
  }
  EXPECT_TRUE(was_another_number);
}

class UploadTest : public testing::Test {
 protected:
  UploadTest() {
    EXPECT_TRUE(small_.job.OpenRound());
    device_ = small_.job.cohort()[0];
    upload_.task = small_.job.Answer(device_, Hello(small_.job)).task;
    upload_.bytes = EncodedUpdate(upload_.nonce);
  }

  std::vector<uint8_t> EncodedUpdate(const std::vector<uint8_t>& nonce) {
    const std::string& id = small_.registry[device_].id;
    Key round_key;
    EXPECT_EQ(DeriveRoundKey(small_.registry[device_].secret,
                             {upload_.task.job_id,
                              {reinterpret_cast<const uint8_t*>(id.data()), id.size()},
                              0,
                              0,
                              {nonce.data(), nonce.size()}},
                             &round_key),
              Status::kOk);
    const std::vector<float> update(small_.job.config().model->parameters, 0.01f);
    UpdateEncoder encoder;
    EXPECT_EQ(encoder.Begin(round_key, upload_.task.format, {update.data(), update.size()}, 0.4f,
                            upload_.task.unit),
              Status::kOk);
    std::vector<uint8_t> bytes(
        MaxUpdateSize(small_.job.config().model->parameters, upload_.task.format));
    size_t written = 0;
    EXPECT_EQ(encoder.Read({bytes.data(), bytes.size()}, &written), Status::kOk);
    bytes.resize(written);
    return bytes;
  }

  Reply Answer(const Request& request) { return small_.job.Answer(device_, request); }

  SmallJob small_;
  uint32_t device_ = 0;
  Upload upload_;
};

TEST_F(UploadTest, AnIdenticalSecondUploadIsAcknowledgedADifferentOneRefused) {
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(Answer(upload_.Chunk(0, upload_.bytes.size())).complete);
  EXPECT_TRUE(Answer(upload_.Begin()).complete);
  Upload other = upload_;
  other.nonce[0] ^= 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
  EXPECT_EQ(small_.job.CloseRound().reported, 1u);
}

TEST_F(UploadTest, AnInterruptedUploadResumesWhereItStopped) {
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_EQ(Answer(upload_.Chunk(0, 30)).offset, 30u);
  EXPECT_EQ(Answer(upload_.Begin()).offset, 30u);
  EXPECT_TRUE(Answer(upload_.Chunk(30, upload_.bytes.size() - 30)).complete);
}

TEST_F(UploadTest, ADeviceThatTrainedAnewStartsItsUploadAnew) {
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_EQ(Answer(upload_.Chunk(0, 30)).offset, 30u);
  Upload other = upload_;
  other.nonce[0] ^= 1;
  other.bytes = EncodedUpdate(other.nonce);
  EXPECT_EQ(Answer(other.Begin()).offset, 0u);
  EXPECT_TRUE(Answer(other.Chunk(0, other.bytes.size())).complete);
}

TEST_F(UploadTest, WhatBelongsToAnotherAttemptIsRefused) {
  Upload other = upload_;
  other.task.attempt = 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
  other = upload_;
  other.task.round = 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
  other = upload_;
  other.task.job_id[0] ^= 1;
  EXPECT_TRUE(IsFinalError(Answer(other.Begin())));
}

TEST_F(UploadTest, SizesAndOrderOutsideTheProtocolAreRefused) {
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, 10)))) << "no UpdateBegin yet";
  Request begin = upload_.Begin();
  begin.coding = Coding::kFloat32;
  EXPECT_TRUE(IsFinalError(Answer(begin)));
  begin = upload_.Begin();
  begin.nonce = {};
  EXPECT_TRUE(IsFinalError(Answer(begin)));
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(5, 10)))) << "a gap";
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, 0)))) << "an empty chunk";
  upload_.bytes.resize(MaxUpdateSize(small_.job.config().model->parameters, upload_.task.format) +
                       1);
  EXPECT_EQ(Answer(upload_.Chunk(0, upload_.bytes.size())).code, ErrorCode::kTooLarge)
      << "one byte too many";
  EXPECT_TRUE(IsFinalError(Answer({}))) << "no request at all";
}

TEST_F(UploadTest, BytesNoHonestDeviceSendsCountAsNoReport) {
  upload_.bytes[0] = lrq::kMaxScaleCode + 1;
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, upload_.bytes.size()))));
  EXPECT_TRUE(IsFinalError(Answer(upload_.Begin())));
  EXPECT_EQ(Answer(Hello(small_.job)).kind, Reply::Kind::kWait);
  small_.Report(small_.job.cohort()[1]);
  EXPECT_FALSE(small_.job.IsComplete());
  const RoundOutcome outcome = small_.job.CloseRound();
  EXPECT_EQ(outcome.reported, 1u);
  EXPECT_EQ(outcome.topped_up, 3u);
}

TEST_F(UploadTest, ARoundDoesNotWaitForWhomItHasRefused) {
  upload_.bytes[0] = lrq::kMaxScaleCode + 1;
  EXPECT_EQ(Answer(upload_.Begin()).offset, 0u);
  EXPECT_TRUE(IsFinalError(Answer(upload_.Chunk(0, upload_.bytes.size()))));
  for (size_t i = 1; i < small_.job.cohort().size(); ++i) {
    EXPECT_FALSE(small_.job.IsComplete());
    small_.Report(small_.job.cohort()[i]);
  }
  EXPECT_TRUE(small_.job.IsComplete());
}

TEST(JobConfig, RefusesWhatCannotBe) {
  const auto refuses = [](auto change) {
    JobConfig config = SmallConfig();
    config.Validate();
    change(config);
    EXPECT_THROW(config.Validate(), std::invalid_argument);
  };
  refuses([](JobConfig& c) { c.model = nullptr; });
  refuses([](JobConfig& c) { c.training.batch_size = 0; });
  refuses([](JobConfig& c) { c.training.clip_l2 = 0.5f; });
  refuses([](JobConfig& c) { c.learning_rate_decay = 0; });
  refuses([](JobConfig& c) { c.learning_rate_decay = NAN; });
  refuses([](JobConfig& c) { c.server_learning_rate = -1; });
  refuses([](JobConfig& c) { c.smoothing = NAN; });
  refuses([](JobConfig& c) { c.min_devices = kSmallDevices + 1; });
  refuses([](JobConfig& c) { c.max_attempts = 0; });
  refuses([](JobConfig& c) { c.plan.noise_sigma = 0.1; });  // not a float32 value
  refuses([](JobConfig& c) { c.plan.dimension = 7; });
  refuses([](JobConfig& c) { c.plan.delta = 0; });
  refuses([](JobConfig& c) { c.epsilon_budget = 0; });
}

TEST(RoundToDevice, NeverLowersTheNoise) {
  for (double sigma = 1e-3; sigma < 100; sigma *= 1.37) {
    privacy::Plan plan;
    plan.noise_sigma = sigma;
    const double rounded = RoundToDevice(plan).noise_sigma;
    EXPECT_GE(rounded, sigma);
    EXPECT_LE(rounded, sigma * (1 + 2e-7));
    EXPECT_EQ(static_cast<double>(static_cast<float>(rounded)), rounded);
  }
}

TEST(DeviceRegistry, RefusesDuplicatesOfNameAndSecret) {
  DeviceRegistry registry = SmallRegistry();
  EXPECT_EQ(registry.Find("small-3"), 3u);
  EXPECT_EQ(registry.Find("stranger"), registry.size());
  Device device{"small-3", {}};
  device.secret.bytes[1] = 9;
  EXPECT_THROW(registry.Register(device), std::invalid_argument);
  device = {"new", registry[3].secret};
  EXPECT_THROW(registry.Register(device), std::invalid_argument);
  device = {"not a name", {}};
  EXPECT_THROW(registry.Register(device), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
