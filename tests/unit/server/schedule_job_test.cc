// Jobs whose rounds differ in bound and noise: what devices are asked for, what a store keeps, and
// that job, ledger and account charge the same.
#include <cmath>
#include <gtest/gtest.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "account/account_options.h"
#include "plans/composition.h"
#include "plans/statement.h"
#include "sotto/posix/run_key.h"
#include "spec/configuration.h"
#include "spec/make_job.h"
#include "store/ledger.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

constexpr uint32_t kRounds = 3;

// Dynamic noise, all devices in every round.
JobRequest DynamicRequest() {
  JobRequest r;
  r.job.model = FindModel("softmax-64-10");
  r.job.plan.rounds = kRounds;
  r.job.plan.sampling = privacy::Sampling::kFull;
  r.job.plan.schedule.noise_decay = 0.6;
  r.job.training.clip_l2 = 0.4F;
  r.job.training.batch_size = 3;
  r.noise_sigma = 0.2;
  r.epsilon_budget = 1e6;
  r.delta = 1e-3;
  return r;
}

// Noisy-FedProx with a rate that falls.
JobRequest ProximalRequest() {
  JobRequest r = DynamicRequest();
  r.job.plan.schedule.noise_decay = 1;
  r.clip_from_steps = true;
  r.job.training.local_steps = 5;
  r.job.training.gradient_clip = 0.7F;
  r.job.training.proximal = 0.3F;
  r.job.training.learning_rate = 0.2F;
  r.job.training.weight_decay = 0;
  r.job.learning_rate_schedule = privacy::LearningRateSchedule::kInverseRound;
  return r;
}

JobConfig Make(const JobRequest& request) { return MakeJob(request, kSmallDevices); }

std::string Refusal(const JobRequest& request) {
  try {
    Make(request);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

// The options of `sotto account epsilon` for the same fleet.
AccountOptions OptionsOf(const JobRequest& r) {
  AccountOptions o;
  o.sampling = r.job.plan.sampling;
  o.cohort = kSmallDevices;
  o.rounds = r.job.plan.rounds;
  o.dimension = r.job.model->parameters;
  o.delta = r.delta;
  o.noise_sigma = r.noise_sigma;
  o.noise_decay = r.job.plan.schedule.noise_decay;
  if (!r.clip_from_steps) {
    o.clip = 0.4;
    return o;
  }
  o.gradient_clip = r.job.training.gradient_clip;
  o.proximal = r.job.training.proximal;
  o.learning_rate = r.job.training.learning_rate;
  o.local_steps = r.job.training.local_steps;
  o.rate_schedule = r.job.learning_rate_schedule;
  return o;
}

TEST(ScheduleJobTest, EachRoundHasItsOwnNoiseAtLeastThatOfThePlan) {
  const JobConfig job = Make(DynamicRequest());
  EXPECT_EQ(job.plan.cohort, kSmallDevices);
  for (uint32_t round = 0; round < kRounds; ++round) {
    const TrainTask task = job.TaskFor(round, job.ClipFor(round));
    EXPECT_EQ(task.training.clip_l2, 0.4F);
    const auto sigma = static_cast<double>(task.quantizer_scale);
    const double planned = job.plan.noise_sigma * std::pow(0.6, round / 4.0);
    EXPECT_GE(sigma, planned * (1 - 1e-15));
    EXPECT_NEAR(sigma, planned, 1e-7 * planned);
  }
}

TEST(ScheduleJobTest, TheBoundFollowsFromTheStepsOfEachRound) {
  const JobConfig job = Make(ProximalRequest());
  for (uint32_t round = 0; round < kRounds; ++round) {
    const double eta = static_cast<double>(0.2F) / (round + 1);
    double bound = 0;
    for (int k = 0; k < 5; ++k) {
      bound = (1 - static_cast<double>(0.3F) * eta) * bound + static_cast<double>(0.7F) * eta;
    }
    const auto clip = static_cast<double>(job.ClipFor(round));
    EXPECT_GE(clip, bound * (1 - 1e-15));
    EXPECT_NEAR(clip, bound, 1e-6 * bound);
    const TrainTask task = job.TaskFor(round, job.ClipFor(round));
    EXPECT_NEAR(static_cast<double>(task.quantizer_scale), 0.2, 1e-6);  // the noise stays
    EXPECT_NEAR(static_cast<double>(task.training.learning_rate), eta, 1e-8);
  }
}

TEST(ScheduleJobTest, WhatHasNoScheduleIsRefusedWithTheReason) {
  const auto refusal = [](void (*change)(JobRequest&), const JobRequest& base) {
    JobRequest request = base;
    change(request);
    return Refusal(request);
  };
  const auto expect = [&](const JobRequest& base, void (*change)(JobRequest&), const char* word) {
    EXPECT_NE(refusal(change, base).find(word), std::string::npos) << refusal(change, base);
  };
  expect(
      DynamicRequest(), [](auto& r) { r.adaptive_clip = true; }, "--adaptive-clip");
  expect(
      DynamicRequest(), [](auto& r) { r.job.evaluates_on_devices = true; },
      "--evaluate-on-devices");
  expect(
      DynamicRequest(), [](auto& r) { r.noise_multiplier = 1; }, "--noise-multiplier");
  expect(
      DynamicRequest(), [](auto& r) { r.job.plan.cohort = 7; }, "--cohort");
  expect(
      DynamicRequest(), [](auto& r) { r.noise_sigma = 4e-7; }, "2^-20");
  expect(
      ProximalRequest(), [](auto& r) { r.job.training.momentum = 0.9F; }, "momentum");
  expect(
      ProximalRequest(), [](auto& r) { r.job.training.weight_decay = 1e-4F; }, "weight decay");
  expect(
      ProximalRequest(), [](auto& r) { r.job.training.local_steps = 0; }, "--local-steps");
  expect(
      ProximalRequest(), [](auto& r) { r.job.training.gradient_clip = 0; }, "--gradient-clip");
}

class ScheduleStoreTest : public StoredTest {
 protected:
  void CreateStore() const { SqlStore(path_, kCreate).AddDevices(SomeDevices(), false); }
};

TEST_F(ScheduleStoreTest, JobLedgerAndAccountChargeTheSame) {
  for (const JobRequest& request : {DynamicRequest(), ProximalRequest()}) {
    JobConfig config = Make(request);
    config.min_devices = 0;
    RecordingStore log;
    const DeviceRegistry registry = SmallRegistry();
    std::optional<JobState> state;
    std::vector<double> epsilons;
    for (uint32_t round = 0; round < kRounds; ++round) {  // each as in a new process
      Job job(config, registry, log, posix::DeriveKey(Key(), "schedule", round), state);
      ASSERT_TRUE(job.OpenRound());
      const RoundOutcome outcome = job.CloseRound();
      state = job.State();
      EXPECT_EQ(outcome.clip_l2, static_cast<double>(config.ClipFor(round)));
      EXPECT_EQ(outcome.next_clip_l2, static_cast<double>(config.ClipFor(round + 1)));
      EXPECT_EQ(outcome.noise_sigma,
                static_cast<double>(config.NoiseSigmaFor(config.ClipFor(round), round)));
      EXPECT_EQ(outcome.spent.epsilon(), privacy::Account(config.plan, round + 1).epsilon());
      EXPECT_EQ(outcome.spent.noise_multiplier, config.plan.NoiseMultiplier(round));
      epsilons.push_back(outcome.spent.epsilon());
    }
    // `sotto account epsilon` with the options of the same names.
    const privacy::Plan account = NoisyFleetPlan(OptionsOf(request), privacy::Accountant());
    EXPECT_EQ(privacy::Account(account, kRounds).epsilon(), epsilons.back());

    // What the store keeps re-accounts to the same figure, as an earlier job.
    const std::string stored = ConfigurationToJson(RecordOf(config)).dump();
    const privacy::Plan kept = PlanFromConfiguration("store", stored);
    EXPECT_EQ(privacy::Account(kept, kRounds).epsilon(), epsilons.back());

    // The ledger's rounds have their own bound and noise. Composed one by one they cost the same.
    std::vector<privacy::SpentRounds> rounds;
    for (const ReleaseRecord& release : log.releases) {
      privacy::Plan plan = PlanOfRound(release);
      EXPECT_TRUE(plan.schedule.IsConstant());
      EXPECT_EQ(plan.noise_sigma, release.noise_sigma);
      EXPECT_EQ(plan.clip_l2, release.clip_l2);
      rounds.push_back({plan, 1});
    }
    privacy::Composition one_by_one =
        privacy::ComposeReleases(rounds.back().plan, 1, {rounds.begin(), rounds.end() - 1});
    privacy::Composition whole = privacy::ComposeReleases(config.plan, kRounds, {});
    EXPECT_NEAR(privacy::AccountFor(one_by_one.rounds, 1e-3).epsilon,
                privacy::AccountFor(whole.rounds, 1e-3).epsilon, 1e-6);
  }
}

TEST_F(ScheduleStoreTest, AStoreKeepsEachReleasesOwnNoiseAndTheSchedule) {
  CreateStore();
  JobConfig config = SmallConfig();
  config.plan.schedule.noise_decay = 0.6;
  config.min_devices = 0;
  SqlStore store(path_);
  const DeviceRegistry registry = store.LoadDevices();
  Job job(config, registry, store, Key());
  for (uint32_t round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(job.OpenRound());
    job.CloseRound();
  }
  const std::vector<JobLedger> ledger = ReadLedger(store);
  ASSERT_EQ(ledger.front().releases.size(), kRounds);
  for (uint32_t round = 0; round < kRounds; ++round) {
    const LedgerEntry& entry = ledger.front().releases[round];
    EXPECT_EQ(entry.plan.noise_sigma, static_cast<double>(config.NoiseSigmaFor(0.4F, round)));
    EXPECT_EQ(entry.noise_multiplier, config.plan.NoiseMultiplier(round));
    EXPECT_EQ(entry.claims.front().epsilon, privacy::Account(config.plan, round + 1).epsilon());
  }
  const History history = store.ReadHistory();
  EXPECT_EQ(PlanOf(history, history.jobs[0]).schedule.noise_decay, 0.6);
  EXPECT_EQ(privacy::Account(PlanOf(history, history.jobs[0]), kRounds).epsilon(),
            ledger.front().releases.back().claims.front().epsilon);
}

TEST_F(ScheduleStoreTest, AJobWithoutAScheduleStoresNothingOfIt) {
  const std::string stored = ConfigurationToJson(RecordOf(SmallConfig())).dump();
  EXPECT_EQ(stored.find("noise_decay"), std::string::npos);
  EXPECT_EQ(stored.find("bound_"), std::string::npos);
  EXPECT_TRUE(PlanFromConfiguration("store", stored).schedule.IsConstant());
}

}  // namespace
}  // namespace sotto::server
