// Tests of the models in a store: the one with which a job begins, and how many stay.
#include <filesystem>
#include <gtest/gtest.h>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

using Net = nn::Sequential<nn::Input<64>, nn::Dense<64, 8>, nn::Relu, nn::Dense<8, 10>>;
constexpr ModelInfo kNet = MakeModelInfo<Net>("hidden-layer");

// Without noise and with all devices, so that a second process continues bit for bit.
JobConfig NetConfig() {
  JobConfig config = SmallConfig();
  config.model = &kNet;
  config.codec = FindCodec("none");
  config.plan.cohort = kSmallDevices;
  config.plan.planned_reports = kSmallDevices;
  config.plan.dimension = kNet.parameters;
  return config;
}

class StoreModelsTest : public StoredTest {
 protected:
  StoreModelsTest() { SqlStore(path_, kCreate).AddDevices(SomeDevices(), false); }

  // One process of a server with a key from a seed. Returns the model after `rounds` rounds.
  std::vector<float> Run(const JobConfig& config, int rounds, uint32_t seed = 1) {
    SqlStore store(path_);
    const History history = store.ReadHistory();
    const DeviceRegistry registry = store.LoadDevices();
    Job job(config, registry, store, posix::DeriveKey(Key(), key_label::kServer, seed),
            ReadState(store, LastJob(history)));
    for (int round = 0; round < rounds; ++round) {
      EXPECT_TRUE(job.OpenRound()) << job.finish_reason();
      for (const uint32_t index : job.cohort()) {
        SmallDevice device(registry[index], index, *config.model, job.round());
        device.config.allow_training_without_privacy = true;
        EXPECT_EQ(device.Run(job, index), Status::kOk);
      }
      EXPECT_TRUE(job.CloseRound().released);
    }
    return {job.parameters().begin(), job.parameters().end()};
  }

  // Releases rounds without training.
  void Fill(uint32_t rounds, std::optional<uint32_t> kept, size_t parameters = 8) const {
    SqlStore store(path_);
    if (kept) store.KeepModels(*kept);
    const std::vector<float> first = ModelOf(99, parameters);
    JobRecord record = RecordOf(config_);
    record.parameters = {first.data(), first.size()};
    store.BeginJob(record);
    const auto released = static_cast<uint32_t>(LastJob(store.ReadHistory())->released);
    for (uint32_t round = released; round < released + rounds; ++round) {
      store.CommitAttempt({round, 0, {0}});
      Release(store, round, 0, parameters);
    }
  }

  std::vector<int64_t> Rounds() const {
    const StoreReport report = InspectStore(path_);
    return report.models.empty() ? std::vector<int64_t>() : report.models[0].rounds;
  }

  const JobConfig config_ = SmallConfig();
};

using Models = std::vector<int64_t>;

TEST_F(StoreModelsTest, AJobThatIsKilledBeforeItsFirstReleaseResumesWithTheSameModel) {
  OF_A_FILE_ONLY();
  const std::string other = folder_.Path("other");
  std::filesystem::copy_file(path_, other);
  const std::vector<float> expected = Run(NetConfig(), 2);

  path_ = other;
  const std::vector<float> first = Run(NetConfig(), 0);
  EXPECT_NE(first, std::vector<float>(kNet.parameters)) << "a hidden layer begins at random";
  EXPECT_EQ(Run(NetConfig(), 0, 2), first) << "another process has another key";
  EXPECT_EQ(Run(NetConfig(), 2), expected);
}

TEST_F(StoreModelsTest, AResumedJobNeedsNoFileOfItsInitialModel) {
  JobConfig config = NetConfig();
  config.initial_parameters = std::vector<float>(kNet.parameters, 0.125F);
  EXPECT_EQ(Run(config, 0), config.initial_parameters);
  EXPECT_EQ(Run(NetConfig(), 0), config.initial_parameters);
  EXPECT_EQ(Run(config, 0), config.initial_parameters);
  config.initial_parameters[5] = 0;
  EXPECT_TRUE(Says(RefusalOf([&] { Run(config, 0); }), "began with initial_model"));
}

TEST_F(StoreModelsTest, AnAttemptThatWasCommittedChangesNoFirstModel) {
  const std::vector<float> first = Run(NetConfig(), 0);
  {
    SqlStore store(path_);
    const DeviceRegistry registry = store.LoadDevices();
    Job job(NetConfig(), registry, store, Key(), Load(store));
    EXPECT_TRUE(job.OpenRound());
  }
  EXPECT_EQ(Run(NetConfig(), 0, 3), first);
}

TEST_F(StoreModelsTest, AllModelsAreKeptUnlessToldOtherwise) {
  Fill(3, std::nullopt);
  EXPECT_EQ(Rounds(), (Models{kFirstModel, 0, 1, 2}));
  SqlStore store(path_);
  EXPECT_EQ(store.ReadModel(1, kFirstModel).parameters, ModelOf(99, 8));
  EXPECT_EQ(store.ReadModel(1, kFirstModel).next_clip_l2, config_.plan.clip_l2);
  EXPECT_EQ(store.ReadModel(1, 1).parameters, ModelOf(1, 8));
}

TEST_F(StoreModelsTest, OlderModelsAreDeletedAndTheStoreIsStillVerified) {
  Fill(1, 2);
  EXPECT_EQ(Rounds(), (Models{kFirstModel, 0}));
  Fill(2, 2);
  EXPECT_EQ(Rounds(), (Models{1, 2}));
  const int64_t records = InspectStore(path_).records;
  Fill(1, 1);
  EXPECT_EQ(Rounds(), (Models{3}));
  EXPECT_EQ(InspectStore(path_).records, records + 3);
  SqlStore store(path_);
  EXPECT_EQ(store.Ledger().size(), 4u);
  EXPECT_EQ(Load(store)->parameters, ModelOf(3, 8));
  EXPECT_TRUE(Says(RefusalOf([&] { store.ReadModel(1, 1); }), "the model of round 2 of job 1"));
}

TEST_F(StoreModelsTest, AResumedJobMayKeepMoreOrFewerModels) {
  Fill(4, std::nullopt);
  Fill(1, 2);
  EXPECT_EQ(Rounds(), (Models{3, 4}));
  Fill(2, std::nullopt);
  EXPECT_EQ(Rounds(), (Models{3, 4, 5, 6}));
}

TEST_F(StoreModelsTest, OtherJobsKeepTheirModels) {
  Fill(2, std::nullopt);
  {
    SqlStore store(path_);
    store.AllowNewJob();
    store.KeepModels(1);
    store.BeginJob(OtherRecordOf(config_));
    store.CommitAttempt({0, 0, {0}});
    Release(store, 0, 0);
  }
  const StoreReport report = InspectStore(path_);
  ASSERT_EQ(report.models.size(), 2u);
  EXPECT_EQ(report.models[0].rounds, (Models{kFirstModel, 0, 1}));
  EXPECT_EQ(report.models[1].rounds, (Models{0}));
}

// Only what a release deletes may be missing.
TEST_F(StoreModelsTest, TheNewestModelMayNotBeMissingAndNoneMayBeChanged) {
  OF_A_FILE_ONLY();
  Fill(4, 2);
  const struct {
    const char* sql;
    const char* bad;
  } changes[] = {
      {"DELETE FROM models WHERE round = 3", "the model of round 4 of job 1"},
      {"DELETE FROM models", "the first model of job 1"},
      {"UPDATE models SET parameters = zeroblob(32) WHERE round = 2", "the model of round 3"},
      {"UPDATE models SET next_clip_l2 = 9 WHERE round = 3", "the model of round 4"},
      {"UPDATE models SET round = 1 WHERE round = 2", "the model of round 2"},
      {"INSERT INTO models VALUES (1, -1, x'', x'', 1)", "the first model of job 1"},
      {"INSERT INTO models VALUES (1, 9, x'', x'', 1)", "the table models"},
      {"UPDATE chain SET hash = randomblob(32) WHERE kind = 'model' AND second_key = 0",
       "attempt 1 at round 2"},
      {"DELETE FROM chain WHERE kind = 'model' AND second_key = 0", "is not as it was written"},
  };
  const std::string sound = folder_.Path("sound");
  std::filesystem::copy_file(path_, sound);
  for (const auto& change : changes) {
    std::filesystem::copy_file(sound, path_, std::filesystem::copy_options::overwrite_existing);
    RunSql(change.sql);
    EXPECT_TRUE(Says(Refusal(), change.bad)) << change.sql << "\n" << Refusal();
    EXPECT_EQ(RefusalOf([&] { InspectStore(path_); }), Refusal()) << change.sql;
  }
}

TEST_F(StoreModelsTest, AChainThatEndsAfterTheFirstModelIsRefused) {
  Fill(0, std::nullopt);
  RunSql("DELETE FROM job_devices; DELETE FROM chain WHERE kind = 'start'");
  EXPECT_TRUE(Says(Refusal(), "the first model of job 1, is the last one"));
}

// The thresholds of a store, as text.
std::string ThresholdsOf(const std::string& path) {
  std::string text;
  for (const ModelThreshold& each : SqlStore(path, StoreMode::kRead).Thresholds()) {
    text += std::to_string(each.job) + " " + std::to_string(each.round) + " " +
            std::to_string(each.threshold) + "\n";
  }
  return text;
}

TEST_F(StoreModelsTest, TheLastThresholdOfEachReleaseHoldsAndIsAsItWasWritten) {
  Fill(2, std::nullopt);
  EXPECT_EQ(ThresholdsOf(path_), "");
  SqlStore(path_).AttachThreshold({1, 1, 0.5F});
  SqlStore(path_).AttachThreshold({1, 0, 3});
  SqlStore(path_).AttachThreshold({1, 1, 0.25F});
  EXPECT_EQ(ThresholdsOf(path_), "1 0 3.000000\n1 1 0.250000\n");
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.last_record, "threshold 2 of the model of round 2 of job 1");
  Fill(1, 1);  // the models of the rounds before are deleted, their thresholds stay
  EXPECT_EQ(ThresholdsOf(path_), "1 0 3.000000\n1 1 0.250000\n");
  SqlStore(path_).AttachThreshold({1, 2, 1e-30F});
  EXPECT_EQ(SqlStore(path_).Thresholds().back().threshold, 1e-30F);
}

// A round that measured records it with its model, in one commit.
TEST_F(StoreModelsTest, AReleaseMayBringItsThreshold) {
  {
    SqlStore store(path_);
    store.BeginJob(RecordOf(config_));
    store.CommitAttempt({0, 0, {0}});
    const std::vector<float> model = ModelOf(0);
    ReleaseRecord record;
    record.parameters = {model.data(), model.size()};
    record.codec = FindCodec("gau-lrq");
    record.threshold = 0.75F;
    store.CommitRelease(record);
  }
  EXPECT_EQ(ThresholdsOf(path_), "1 0 0.750000\n");
  EXPECT_EQ(InspectStore(path_).last_record, "threshold 1 of the model of round 1 of job 1");
  SqlStore(path_).AttachThreshold({1, 0, 0.5F});
  EXPECT_EQ(ThresholdsOf(path_), "1 0 0.500000\n");
}

TEST_F(StoreModelsTest, NoThresholdWithoutAReleaseAndNoneThatIsNotAboveZero) {
  Fill(1, std::nullopt);
  for (const ModelThreshold& none : {ModelThreshold{1, 1, 1}, {1, kFirstModel, 1}, {2, 0, 1}}) {
    EXPECT_TRUE(Says(RefusalOf([&] { SqlStore(path_).AttachThreshold(none); }), "has no release"));
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {0.0F, -1.0F, kInfinity, kInfinity - kInfinity, 1e-40F}) {
    EXPECT_THROW(SqlStore(path_).AttachThreshold({1, 0, bad}), std::invalid_argument) << bad;
  }
  EXPECT_EQ(ThresholdsOf(path_), "");
}

TEST_F(StoreModelsTest, AChangedThresholdIsRefused) {
  OF_A_FILE_ONLY();
  Fill(1, std::nullopt);
  SqlStore(path_).AttachThreshold({1, 0, 0.5F});
  SqlStore store(path_);
  RunSql("UPDATE thresholds SET threshold = 9");
  EXPECT_TRUE(Says(RefusalOf([&] { store.Thresholds(); }), "threshold 1 of the model of round 1"));
  EXPECT_TRUE(Says(Refusal(), "threshold 1 of the model of round 1"));
}

TEST_F(StoreModelsTest, ACopyHasTheThresholds) {
  Fill(1, std::nullopt);
  SqlStore(path_).AttachThreshold({1, 0, 0.5F});
  const std::string copy = folder_.Path("copy");
  BackUpStore(path_, copy);
  EXPECT_EQ(ThresholdsOf(copy), "1 0 0.500000\n");
  const std::string moved = folder_.Path("moved");
  MoveStore(path_, moved);
  EXPECT_EQ(ThresholdsOf(moved), "1 0 0.500000\n");
}

TEST_F(StoreModelsTest, TheFileDoesNotGrowWithTheNumberOfRounds) {
  OF_A_FILE_ONLY();
  constexpr size_t kParameters = 100000;
  Fill(3, 2, kParameters);
  const auto size = std::filesystem::file_size(path_);
  EXPECT_LT(size, 4 * 4 * kParameters) << "two models and the one that is written";
  Fill(6, 2, kParameters);
  EXPECT_LT(std::filesystem::file_size(path_), size + 2 * kParameters);
}

}  // namespace
}  // namespace sotto::server
