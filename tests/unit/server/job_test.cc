// Tests of the rounds of a job: how they open, what they release, and when an attempt is given up.
#include "round/job.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>

#include "plans/statement.h"
#include "unit/privacy/figures.h"
#include "unit/server/requests.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

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
  EXPECT_FALSE(small.job.gave_up());
  EXPECT_EQ(AskForWork(small.job, 0).kind, Reply::Kind::kDone);
  ASSERT_EQ(small.store.releases.size(), 3u);
  EXPECT_EQ(small.store.models.back(), small.Model());
  EXPECT_LT(small.store.releases[0].spent.epsilon(), small.store.releases[2].spent.epsilon());
}

TEST(Job, ADeviceThatStaysIsToldWhatItWaitsForAndNeverThatItIsDone) {
  SmallJob small;
  Request hello = Hello(small.job);
  hello.abilities.features |= kFeatureStays;
  const auto state = [&] {
    const Reply reply = small.job.Answer(0, hello);
    return reply.kind == Reply::Kind::kWait ? reply.state : WaitState::kUnknown;
  };
  EXPECT_EQ(state(), WaitState::kRounds);
  small.job.SetPaused(true);
  ASSERT_FALSE(small.job.OpenRound());
  EXPECT_EQ(state(), WaitState::kPaused);
  small.job.SetPaused(false);
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    small.ReportAll();
    EXPECT_EQ(state(), WaitState::kRounds);
    EXPECT_TRUE(small.job.CloseRound().released);
  }
  EXPECT_FALSE(small.job.OpenRound());
  EXPECT_EQ(state(), WaitState::kNoJob);
}

TEST(Job, ItsModelsDescriptionIsGivenInPartsWhateverTheRoundDoes) {
  const auto get = [](uint32_t offset) {
    Request request;
    request.kind = Request::Kind::kGetDescription;
    request.offset = offset;
    return request;
  };
  SmallJob without;
  EXPECT_EQ(without.job.Answer(0, get(0)).code, ErrorCode::kBusy);
  JobConfig config = SmallConfig();
  config.description = std::make_shared<const std::vector<uint8_t>>(20000, uint8_t{7});
  SmallJob small(config);
  for (const bool is_open : {false, true}) {
    ASSERT_EQ(is_open && small.job.OpenRound(), is_open);
    size_t got = 0;
    for (int part = 0; part < 2; ++part) {
      const Reply reply = small.job.Answer(0, get(static_cast<uint32_t>(got)));
      ASSERT_EQ(reply.kind, Reply::Kind::kDescriptionChunk);
      EXPECT_EQ(reply.size, 20000u);
      got += reply.bytes.size();
    }
    EXPECT_EQ(got, 20000u);
    EXPECT_EQ(small.job.Answer(0, get(20000)).code, ErrorCode::kMalformed);
  }
}

// Divergence is read from the released sum. The round is charged whatever the job does with the
// sum.
TEST(Job, ASumTooLargeForTheModelIsReleasedAndChargedAndEndsTheJob) {
  JobConfig config = SmallConfig();
  config.aggregation.server_learning_rate = 1e300;
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
  EXPECT_EQ(small.job.end(), Halt::kDiverged);
  EXPECT_TRUE(small.job.gave_up());
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
  EXPECT_EQ(AskForWork(small.job, 0).kind, Reply::Kind::kWait);
  ASSERT_TRUE(small.job.OpenRound());
  size_t invited = 0;
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    const Reply reply = AskForWork(small.job, device);
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

// SECURITY.md S12.
TEST(Job, AnAttemptIsCommittedBeforeADeviceHearsOfIt) {
  SmallJob small;
  small.store.fail = true;
  EXPECT_THROW(small.job.OpenRound(), std::runtime_error);
  EXPECT_NE(small.job.phase(), Job::Phase::kOpen);
}

// SECURITY.md S16.
TEST(Job, AReleaseThatCannotBeCommittedIsNotReleased) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  small.store.fail = true;
  EXPECT_THROW(small.job.CloseRound(), std::runtime_error);
  EXPECT_EQ(small.job.phase(), Job::Phase::kClosing);
  EXPECT_TRUE(small.store.releases.empty());
  EXPECT_EQ(small.Model(), std::vector<float>(small.job.config().model->parameters, 0.0f));
}

// A device that receives Done leaves for good, and is missing when the server restarts.
TEST(Job, NobodyHearsThatAJobIsDoneWhichAnErrorStopped) {
  for (const bool enough_devices : {true, false}) {
    JobConfig config = SmallConfig();
    config.min_devices = enough_devices ? 4 : kSmallDevices;
    SmallJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    small.ReportAll();
    small.store.fail = true;
    EXPECT_THROW(small.job.CloseRound(), std::runtime_error);
    for (uint32_t device = 0; device < kSmallDevices; ++device) {
      EXPECT_EQ(AskForWork(small.job, device).kind, Reply::Kind::kWait);
    }
  }
}

TEST(Job, TooFewDevicesHeardOfAbortTheAttemptWhichReleasesNothingAndCostsNothing) {
  JobConfig config = ClosingEarly(SmallConfig());
  config.min_devices = 6;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  small.ReportAll();
  EXPECT_FALSE(small.job.IsComplete()) << "more devices may still come by";
  const RoundOutcome aborted = small.job.CloseRound();
  EXPECT_FALSE(aborted.released);
  EXPECT_EQ(aborted.reported, 4u);
  EXPECT_EQ(aborted.checked_in, 4u);
  EXPECT_TRUE(small.store.releases.empty());
  EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
  EXPECT_EQ(small.job.attempt(), 1u);
  ASSERT_EQ(small.store.attempts.size(), 2u);
  EXPECT_EQ(small.store.attempts[1].attempt, 1u);
  for (uint32_t device = 0; device < kSmallDevices; ++device) {
    AskForWork(small.job, device);
    AskForWork(small.job, device);
  }
  small.ReportAll();
  EXPECT_TRUE(small.job.IsComplete());
  const RoundOutcome outcome = small.job.CloseRound();
  EXPECT_TRUE(outcome.released);
  EXPECT_EQ(outcome.checked_in, kSmallDevices);
  EXPECT_EQ(outcome.spent.rounds, 1);
  EXPECT_EQ(outcome.spent.epsilon(), privacy::Account(config.plan, 1).epsilon());
  EXPECT_EQ(NetworkEpsilon(outcome.spent), NetworkEpsilon(privacy::Account(config.plan, 1)));
}

// Whether a round is released must not depend on who was drawn for it.
TEST(Job, ARoundThatNoDrawnDeviceReportsToIsReleasedAsNoiseAlone) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  const std::vector<uint32_t>& drawn = small.job.cohort();
  uint32_t other = 0;
  while (std::find(drawn.begin(), drawn.end(), other) != drawn.end()) ++other;
  EXPECT_EQ(AskForWork(small.job, other).kind, Reply::Kind::kWait);
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
  config.plan.accountant = privacy::Accountant("rdp");  // the quickest: no figure matters here
  SmallJob small(config);
  int with_it = 0;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(small.job.OpenRound());
    const bool is_drawn = AskForWork(small.job, 0).kind == Reply::Kind::kTrain;
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
  EXPECT_EQ(small.job.CloseRound().checked_in, 0u);
}

TEST(Job, GivesUpAfterTheLastAttempt) {
  JobConfig config = SmallConfig();
  config.process.max_attempts = 2;
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.phase(), Job::Phase::kOpen);
  EXPECT_FALSE(small.job.CloseRound().released);
  EXPECT_EQ(small.job.phase(), Job::Phase::kFinished);
  EXPECT_NE(small.job.finish_reason().find("given up after 2"), std::string::npos);
  EXPECT_TRUE(small.job.gave_up());
  EXPECT_EQ(AskForWork(small.job, 0).kind, Reply::Kind::kWait) << "a later start goes on";
}

// SECURITY.md S15.
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

// A Poisson draw above the cap is never trained on.
TEST(Job, APoissonDrawAboveTheCapIsDrawnAgain) {
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = 4;
  config.plan.rounds = 20;
  config.process.max_attempts = 50;
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
  config.codec = FindCodec("none");
  SmallJob small(config);
  ASSERT_TRUE(small.job.OpenRound());
  std::vector<double> average(config.model->parameters);
  for (const uint32_t index : small.job.cohort()) {
    SmallDevice device(small.registry[index], index, *config.model);
    device.config.allow_training_without_privacy = true;
    ASSERT_EQ(device.Run(small.job, index), Status::kOk);
    // The update stays in the parameter buffer after the upload.
    const ClientBuffers buffers = device.buffers();
    for (size_t j = 0; j < average.size(); ++j) average[j] += buffers.update[j] / 4.0;
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
  config.codec = FindCodec("none");
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
      for (size_t j = 0; j < sum.size(); ++j) sum[j] += static_cast<double>(buffers.update[j]);
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

}  // namespace
}  // namespace sotto::server
