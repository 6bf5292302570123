// Tests of several jobs in one store: what a later job is charged with.
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/sql_store.h"
#include "plans/statement.h"
#include "sotto/posix/run_key.h"
#include "unit/privacy/figures.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreJobsTest : public StoredTest {
 protected:
  // One process of the server: the next rounds of the last job, or of a new one, by all its
  // devices. Returns what the last one cost.
  privacy::Statement Run(const JobConfig& config, int rounds, bool as_new = false) {
    SqlStore store(path_);
    return Run(store, config, rounds, as_new);
  }

  privacy::Statement Run(SqlStore& store, JobConfig config, int rounds, bool as_new = false) {
    if (as_new) store.AllowNewJob();
    const History history = store.ReadHistory();
    const JobEntry* resumed = as_new ? nullptr : LastJob(history);
    config.spent_before = SpentBefore(history, resumed);
    const DeviceRegistry registry = store.LoadDevices();
    Job job(config, registry, store, posix::DeriveKey(Key(), "test", processes_++),
            ReadState(store, resumed));
    RoundOutcome outcome;
    for (int round = 0; round < rounds; ++round) {
      EXPECT_TRUE(job.OpenRound()) << job.finish_reason();
      for (const uint32_t index : job.cohort()) {
        SmallDevice device(registry[index], index, *config.model, processes_ * 100 + job.round());
        device.config.allow_training_without_privacy = !config.codec->certified;
        EXPECT_EQ(device.Run(job, index), Status::kOk);
      }
      outcome = job.CloseRound();
      EXPECT_TRUE(outcome.released);
    }
    return outcome.spent;
  }

  void CreateStore(uint32_t devices = kSmallDevices) const {
    SqlStore(path_, kCreate).AddDevices(SomeDevices(devices), false);
  }

  uint32_t processes_ = 0;
};

// What a new job on the eligible devices starts from.
std::vector<privacy::SpentRounds> SpentBeforeANewJob(SqlStore& store) {
  return SpentBefore(store.ReadHistory(), nullptr);
}

// What the last job starts from.
std::vector<privacy::SpentRounds> SpentBeforeTheLastJob(SqlStore& store) {
  const History history = store.ReadHistory();
  return SpentBefore(history, LastJob(history));
}

std::vector<int64_t> JobsBefore(SqlStore& store, size_t job) {
  const History history = store.ReadHistory();
  return JobsBefore(history, history.jobs.at(job));
}

JobConfig QuietConfig() {
  JobConfig config = SmallConfig();
  config.plan.noise_sigma = 0.5;
  config.plan.cohort = config.plan.planned_reports = 3;
  config.aggregation.smoothing = 1;
  return config;
}

TEST_F(StoreJobsTest, ALaterJobStartsFromWhatEarlierOnesSpent) {
  CreateStore();
  {
    SqlStore store(path_);
    EXPECT_TRUE(SpentBeforeANewJob(store).empty());
  }
  const privacy::Statement first = Run(SmallConfig(), 2);
  const privacy::Statement second = Run(QuietConfig(), 1, true);
  const privacy::Statement expected =
      privacy::Account(QuietConfig().plan, 1, {{SmallConfig().plan, 2}});
  EXPECT_EQ(second.epsilon(), expected.epsilon());
  EXPECT_EQ(NetworkEpsilon(second), NetworkEpsilon(expected));
  EXPECT_GT(second.epsilon(), first.epsilon());
  EXPECT_GT(NetworkEpsilon(second), NetworkEpsilon(first));

  SqlStore store(path_);
  const std::vector<LedgerEntry> ledger = store.Ledger();
  ASSERT_EQ(ledger.size(), 3u);
  EXPECT_EQ(ledger[1].job, 1);
  EXPECT_EQ(ledger[2].job, 2);
  EXPECT_EQ(ledger[2].round, 0u);
  EXPECT_EQ(EpsilonOf(ledger[2]), expected.epsilon());
  EXPECT_EQ(ledger[2].charged_rounds, 1);
  EXPECT_EQ(ledger[2].earlier_rounds, 2);
  const History history = store.ReadHistory();
  ASSERT_EQ(history.jobs.size(), 2u);
  EXPECT_TRUE(JobsBefore(store, 0).empty());
  EXPECT_EQ(JobsBefore(store, 1), std::vector<int64_t>{1});
  EXPECT_EQ(history.jobs[1].devices.size(), kSmallDevices);
  EXPECT_EQ(history.jobs[1].released, 1);
  EXPECT_EQ(PlanOf(history, history.jobs[1]).rounds, 3);
}

TEST_F(StoreJobsTest, AnEarlierAdaptiveBoundIsChargedWithItsBits) {
  CreateStore();
  const JobConfig adaptive = SmallAdaptiveConfig(0.4, 0.5);
  Run(adaptive, 2);
  const privacy::Statement second = Run(QuietConfig(), 1, true);
  EXPECT_EQ(second.epsilon(),
            privacy::Account(QuietConfig().plan, 1, {{adaptive.plan, 2}}).epsilon());
  privacy::Plan without_bits = adaptive.plan;
  without_bits.clip_bit_scale = 0;
  EXPECT_GT(second.epsilon(),
            privacy::Account(QuietConfig().plan, 1, {{without_bits, 2}}).epsilon());
}

TEST_F(StoreJobsTest, AnAdaptiveBoundGoesOnWhereTheLastReleaseLeftIt) {
  CreateStore();
  const JobConfig adaptive = SmallAdaptiveConfig(0.1);
  double clip = 0.1F;
  for (int round = 0; round < 3; ++round) {
    Run(adaptive, 1);
    SqlStore store(path_);
    const LedgerEntry entry = store.Ledger().back();
    EXPECT_EQ(entry.plan.clip_l2, clip);
    EXPECT_NEAR(entry.plan.noise_sigma / clip, adaptive.plan.noise_sigma / adaptive.plan.clip_l2,
                1e-6);
    EXPECT_EQ(entry.noise_multiplier, adaptive.plan.NoiseMultiplier());
    EXPECT_NE(Load(store)->clip_l2, clip);
    clip = Load(store)->clip_l2;
  }
}

// What a restart of a later job composes is what its first process composed.
TEST_F(StoreJobsTest, ALaterJobThatIsResumedNeitherForgetsNorCountsTwice) {
  CreateStore();
  Run(SmallConfig(), 3);
  for (int round = 0; round < 2; ++round) {
    const privacy::Statement spent = Run(QuietConfig(), 1, round == 0);
    EXPECT_EQ(spent.epsilon(),
              privacy::Account(QuietConfig().plan, round + 1, {{SmallConfig().plan, 3}}).epsilon());
    // Between two processes an attempt is begun and lost.
    SqlStore store(path_);
    JobConfig config = QuietConfig();
    config.spent_before = SpentBeforeTheLastJob(store);
    const DeviceRegistry registry = store.LoadDevices();
    Job job(config, registry, store, posix::DeriveKey(Key(), "lost", processes_++), Load(store));
    EXPECT_TRUE(job.OpenRound());
  }
  SqlStore store(path_);
  EXPECT_EQ(Load(store)->attempts, 4u);
  EXPECT_EQ(store.Ledger().back().attempts, 3) << "the last one begun was lost later";
}

TEST_F(StoreJobsTest, JobsOnOtherDevicesDoNotCompose) {
  CreateStore(4);
  JobConfig config = SmallConfig();
  config.plan.devices = 4;
  Run(config, 1);
  {
    SqlStore store(path_);
    for (uint32_t i = 0; i < 4; ++i) store.RevokeDevice("small-" + std::to_string(i));
    std::vector<Device> all = SomeDevices(8);
    store.AddDevices({all.begin() + 4, all.end()}, false);
  }
  EXPECT_EQ(Run(config, 2, true).epsilon(), privacy::Account(config.plan, 2).epsilon());
  {
    SqlStore store(path_);
    store.RevokeDevice("small-4");
    store.AddDevices({SomeDevices(9)[8]}, false);
  }
  // The third shares three devices with the second and none with the first.
  EXPECT_EQ(Run(config, 1, true).epsilon(),
            privacy::Account(config.plan, 1, {{config.plan, 2}}).epsilon());
  SqlStore store(path_);
  EXPECT_TRUE(JobsBefore(store, 1).empty());
  EXPECT_EQ(JobsBefore(store, 2), std::vector<int64_t>{2});
}

// A device that replaced another one in the middle of a job belongs to that job.
TEST_F(StoreJobsTest, DevicesOfAnyProcessOfAJobAreItsOwn) {
  CreateStore(4);
  JobConfig config = SmallConfig();
  config.plan.devices = 4;
  Run(config, 1);
  {
    SqlStore store(path_);
    store.RevokeDevice("small-0");
    store.AddDevices({SomeDevices(5)[4]}, false);
  }
  Run(config, 1);
  {
    SqlStore store(path_);
    EXPECT_EQ(store.ReadHistory().jobs[0].devices.size(), 5u);
    for (uint32_t i = 1; i < 4; ++i) store.RevokeDevice("small-" + std::to_string(i));
    std::vector<Device> all = SomeDevices(8);
    store.AddDevices({all.begin() + 5, all.end()}, false);
  }
  EXPECT_EQ(Run(config, 1, true).earlier_rounds, 2);
}

TEST_F(StoreJobsTest, AfterAJobWithoutPrivacyNoFiniteEpsilonIsStated) {
  CreateStore();
  JobConfig bare = SmallConfig();
  bare.codec = FindCodec("none");
  Run(bare, 1);
  EXPECT_TRUE(std::isinf(Run(SmallConfig(), 1, true).epsilon()));
  JobConfig limited = SmallConfig();
  limited.epsilon_budget = 1e6;
  EXPECT_THROW(Run(limited, 1, true), std::invalid_argument);
  EXPECT_EQ(SqlStore(path_).ReadHistory().jobs.size(), 2u) << "a refused job leaves nothing behind";
}

TEST_F(StoreJobsTest, AnotherJobBeginsOnlyIfItIsAllowed) {
  CreateStore();
  Run(SmallConfig(), 1);
  const std::string message = RefusalOf([&] { Run(QuietConfig(), 1); });
  EXPECT_TRUE(Says(message, "sotto job start")) << message;
  EXPECT_TRUE(Says(message, "cohort")) << message;
  SqlStore store(path_);
  store.AllowNewJob();
  EXPECT_EQ(store.ReadHistory().jobs.size(), 1u) << "nothing is written before it begins";
  EXPECT_EQ(SmallConfig().plan.noise_sigma, SpentBeforeANewJob(store)[0].plan.noise_sigma);
  store.BeginJob(OtherRecordOf(QuietConfig()));
  EXPECT_EQ(Load(store)->next_round, 0u);
  EXPECT_EQ(Load(store)->attempts, 0u);
  EXPECT_EQ(Load(store)->parameters, FirstModel());
  EXPECT_EQ(SpentBeforeTheLastJob(store)[0].rounds, 1);
  EXPECT_TRUE(Says(RefusalOf([&] { store.BeginJob(RecordOf(QuietConfig())); }), "resume"))
      << "one new job was allowed, not two";
}

TEST_F(StoreJobsTest, AStoredPlanIsThePlan) {
  CreateStore();
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPoisson;
  config.plan.planned_reports = 9;
  config.plan.colluders = 2;
  config.plan.delta = 1.0 / 3;
  config.plan.certificate = {1e-9 / 3, 1e-21 / 7, 9.5};
  config.min_devices = 0;
  SqlStore store(path_);
  store.BeginJob(RecordOf(config));
  const privacy::Plan plan = SpentBeforeANewJob(store)[0].plan;
  EXPECT_EQ(plan.sampling, config.plan.sampling);
  EXPECT_EQ(plan.devices, config.plan.devices);
  EXPECT_EQ(plan.cohort, config.plan.cohort);
  EXPECT_EQ(plan.planned_reports, config.plan.planned_reports);
  EXPECT_EQ(plan.rounds, config.plan.rounds);
  EXPECT_EQ(plan.dimension, config.plan.dimension);
  EXPECT_EQ(plan.clip_l2, config.plan.clip_l2);
  EXPECT_EQ(plan.noise_sigma, config.plan.noise_sigma);
  EXPECT_EQ(plan.colluders, config.plan.colluders);
  EXPECT_EQ(plan.delta, config.plan.delta);
  EXPECT_EQ(plan.certificate.eta, config.plan.certificate.eta);
  EXPECT_EQ(plan.certificate.tau, config.plan.certificate.tau);
  EXPECT_EQ(plan.certificate.range, config.plan.certificate.range);
}

}  // namespace
}  // namespace sotto::server
