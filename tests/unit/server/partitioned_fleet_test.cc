// Tests of simulated fleets whose devices hold unequal shares, or none.
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "data/synthetic.h"
#include "sim/simulation.h"
#include "sotto/models.h"

namespace sotto::server {
namespace {

using Regression = nn::Sequential<nn::Dense<6, 2>, nn::MeanSquaredError<nn::TargetKind::kVector>>;
constexpr ModelInfo kRegression = MakeModelInfo<Regression>("regression");

SimulationConfig Small(const ModelInfo& model, const std::string& partition) {
  SimulationConfig config;
  config.job.model = &model;
  config.job.plan.devices = config.fleet.devices = 40;
  config.job.plan.cohort = config.job.plan.planned_reports = 10;
  config.job.plan.rounds = 2;
  config.job.plan.dimension = model.parameters;
  config.job.plan.clip_l2 = 1.0;
  config.job.plan.noise_sigma = 0.25;
  config.job.plan.delta = 1e-3;
  config.job.training.clip_l2 = 1.0F;
  config.job.min_devices = 20;
  config.fleet.samples_per_device = 20;
  config.fleet.partition = partition;
  config.seed = 7;
  return config;
}

SimulationResult Simulated(const SimulationConfig& config, uint64_t samples = 800) {
  return Simulate(config, SyntheticFor(config.job.model, samples), [](const RoundReport&) {});
}

TEST(PartitionedFleet, TheNumberOfThreadsChangesNothing) {
  for (const ModelInfo* model : {FindModel("softmax-784-10"), FindModel("softmax-64-10")}) {
    for (const char* partition : {"dirichlet-split:0.1", "iid-overlap", "iid"}) {
      SimulationConfig config = Small(*model, partition);
      const SimulationResult one = Simulated(config);
      config.threads = 3;
      const SimulationResult three = Simulated(config);
      EXPECT_EQ(one.parameters, three.parameters) << partition;
      EXPECT_EQ(one.devices_without_samples, three.devices_without_samples) << partition;
    }
  }
}

TEST(PartitionedFleet, PartitionsMakeDifferentModels) {
  const ModelInfo& model = *FindModel("softmax-64-10");
  EXPECT_NE(Simulated(Small(model, "iid")).parameters,
            Simulated(Small(model, "shards:1")).parameters);
}

TEST(PartitionedFleet, DevicesWithoutSamplesReportAndAreNoFailures) {
  const SimulationConfig config = Small(*FindModel("softmax-64-10"), "quantity:0.05");
  const SimulationResult result = Simulated(config);
  EXPECT_GT(result.devices_without_samples, 10U);
  ASSERT_EQ(result.rounds.size(), 2U);
  for (const RoundReport& round : result.rounds) {
    EXPECT_EQ(round.outcome.reported, 10U);
    EXPECT_EQ(round.failed_trainings, 0U);
  }
}

TEST(PartitionedFleet, ThePartitionMayHaveASeedOfItsOwn) {
  SimulationConfig config = Small(*FindModel("softmax-64-10"), "dirichlet:0.1");
  const std::vector<float> of_run = Simulated(config).parameters;
  config.fleet.partition_seed = 7;
  EXPECT_EQ(Simulated(config).parameters, of_run);
  config.fleet.partition_seed = 8;
  EXPECT_NE(Simulated(config).parameters, of_run);
}

TEST(PartitionedFleet, ModelsWithTargetsTrain) {
  const SimulationResult result = Simulated(Small(kRegression, "quantity:1"));
  ASSERT_EQ(result.rounds.size(), 2U);
  EXPECT_EQ(result.rounds[0].failed_trainings, 0U);
}

TEST(PartitionedFleet, DataThatDoNotFitAreRefusedBeforeTheyAreDealtOut) {
  const SimulationConfig config = Small(*FindModel("softmax-64-10"), "nonsense");
  try {
    Simulate(config, MakeSynthetic({10, 10, 1}), [](const RoundReport&) {});
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("takes 64 inputs"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace sotto::server
