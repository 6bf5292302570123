// Personal layers in a simulation: each device keeps its own, and nothing else depends on where
// they lie or who trains when.
#include <algorithm>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "data/catalog.h"
#include "ranks/ranks.h"
#include "sim/device_accuracies.h"
#include "sim/personal_values.h"
#include "sim/simulation.h"
#include "sotto/model/model_file.h"
#include "sotto/models.h"
#include "sotto/personal.h"

namespace sotto::server {
namespace {

constexpr char kLayers[] =
    "[[layer]]\nkind = \"dense\"\noutputs = 8\n[[layer]]\nkind = \"relu\"\n"
    "[[layer]]\nkind = \"dense\"\noutputs = 10\n";

posix::SharedModel SmallModel(const std::string& more) {
  return posix::ParseModel("small.toml",
                           "name = \"small\"\ninput = [28, 28, 1]\n" + more + "\n" + kLayers);
}

SimulationConfig PersonalSimulation(const posix::SharedModel& model) {
  SimulationConfig config;
  config.job.owned_model = model;
  config.job.model = model.get();
  config.job.plan.devices = config.fleet.devices = 30;
  config.job.plan.cohort = config.job.plan.planned_reports = 15;
  config.job.plan.rounds = 4;
  config.job.plan.sampling = privacy::Sampling::kPoisson;
  config.job.min_devices = 0;
  config.job.plan.dimension = model->parameters;
  config.job.plan.clip_l2 = 1.0;
  config.job.plan.noise_sigma = 0.03125;
  config.job.plan.delta = 1e-3;
  config.job.training.clip_l2 = 1.0F;
  config.fleet.samples_per_device = 40;
  config.fleet.partition = "shards";
  config.fleet.held_out = 0.25;
  config.fleet.dropout = 0.1;
  config.evaluate_every = 0;
  config.seed = 3;
  return config;
}

SimulationResult RunOf(const SimulationConfig& config) {
  static const TrainTest data = OpenTrainTest("synthetic", "", nullptr);
  return Simulate(config, data, [](const RoundReport&) {});
}

std::vector<double> Figures(const AccuracySpread& of) {
  std::vector<double> all = {of.mean};
  all.insert(all.end(), of.quantiles.begin(), of.quantiles.end());
  return all;
}

TEST(PersonalSimulation, GivesTheSameBytesOnAnyNumberOfThreads) {
  const posix::SharedModel model = SmallModel("personal = 1");
  SimulationConfig config = PersonalSimulation(model);
  config.fine_tune_steps = 3;
  const SimulationResult one = RunOf(config);
  config.threads = 3;
  const SimulationResult three = RunOf(config);
  EXPECT_EQ(one.parameters.size(), model->parameters) << "the server's model has no personal value";
  EXPECT_EQ(one.parameters, three.parameters);
  ASSERT_TRUE(one.by_device && three.by_device);
  EXPECT_EQ(Figures(one.by_device->global), Figures(three.by_device->global));
  EXPECT_EQ(Figures(*one.by_device->personal), Figures(*three.by_device->personal));
  EXPECT_EQ(Figures(*one.by_device->fine_tuned), Figures(*three.by_device->fine_tuned));
  EXPECT_EQ(one.by_device->devices, 30U);
  EXPECT_EQ(one.by_device->fine_tune_steps, 3U);
}

TEST(PersonalSimulation, KeepsWhatEachDeviceHasLearned) {
  const posix::SharedModel model = SmallModel("personal = 1");
  SimulationConfig config = PersonalSimulation(model);
  const SimulationResult all = RunOf(config);
  config.job.plan.rounds = 1;
  const SimulationResult first = RunOf(config);
  ASSERT_TRUE(all.by_device && first.by_device);
  EXPECT_GT(all.by_device->personal->mean, all.by_device->global.mean + 0.2);
  EXPECT_GT(all.by_device->personal->mean, first.by_device->personal->mean)
      << "a later round goes on where the device was";
  EXPECT_FALSE(all.by_device->fine_tuned);
}

// The whole net is shared here; steps of the owner alone help on labels that few devices have.
TEST(PersonalSimulation, FineTunesAnyModelThatTellsClasses) {
  SimulationConfig config = PersonalSimulation(SmallModel(""));
  EXPECT_FALSE(RunOf(config).by_device) << "nobody asked";
  config.fine_tune_steps = 30;
  const SimulationResult shared = RunOf(config);
  ASSERT_TRUE(shared.by_device);
  EXPECT_FALSE(shared.by_device->personal);
  EXPECT_GT(shared.by_device->fine_tuned->mean, shared.by_device->global.mean);
  const posix::SharedModel fixed = SmallModel("arithmetic = \"fixed-point\"");
  config.job.owned_model = fixed;
  config.job.model = fixed.get();
  const SimulationResult in_fixed_point = RunOf(config);
  ASSERT_TRUE(in_fixed_point.by_device);
  EXPECT_NEAR(in_fixed_point.by_device->fine_tuned->mean, shared.by_device->fine_tuned->mean, 0.1);
  config.fleet.held_out = 0;
  EXPECT_FALSE(RunOf(config).by_device) << "no device holds a sample out";
}

TEST(PersonalSimulation, SaysWhichFineTuningDiverges) {
  SimulationConfig config = PersonalSimulation(SmallModel(""));
  config.job.plan.rounds = 1;
  config.fine_tune_steps = 5;
  config.job.training.learning_rate = 1e30F;
  config.job.training.local_steps = 1;
  config.job.training.clipping = Clipping::kEveryStep;
  try {
    RunOf(config);
    ADD_FAILURE();
  } catch (const std::runtime_error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("training diverged"), std::string::npos) << text;
  }
}

// Of two processes, one of which would have to hand a device's values to the other.
class TwoRanks : public OneRank {
 public:
  uint32_t count() const override { return 2; }
};

// Values that stay on a device remember whether it was drawn, and where a cohort has a fixed size
// that says something of the others.
TEST(PersonalSimulation, UniformCohortsAreRefusedWithNoise) {
  SimulationConfig config = PersonalSimulation(SmallModel("personal = 1"));
  config.job.plan.sampling = privacy::Sampling::kUniform;
  try {
    RunOf(config);
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("take passes, poisson or full"), std::string::npos)
        << error.what();
  }
}

TEST(PersonalSimulation, IsRefusedOverSeveralRanks) {
  SimulationConfig config = PersonalSimulation(SmallModel("personal = 1"));
  TwoRanks ranks;
  config.ranks = &ranks;
  try {
    RunOf(config);
    ADD_FAILURE();
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("simulate it in one process"), std::string::npos)
        << error.what();
  }
}

TEST(PersonalValues, AreTheSameInMemoryAndInAFile) {
  const posix::SharedModel model = SmallModel("personal = 1");
  constexpr uint32_t kDevices = 8;
  for (const uint64_t most : {kMostPersonalBytes, uint64_t{0}}) {
    PersonalValues all(*model, kDevices, most);
    EXPECT_EQ(all.is_in_file(), most == 0);
    const auto values_of = [&](uint32_t device) {
      return std::vector<float>(model->personal, static_cast<float>(device));
    };
    std::vector<std::thread> threads;
    for (uint32_t i = 1; i < kDevices; ++i) {
      threads.emplace_back([&, i] {
        PersonalValues::Device device(all, i);
        const std::vector<float> values = values_of(i);
        EXPECT_EQ(KeepPersonal(*model, device.store(), {values.data(), values.size()}),
                  Status::kOk);
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (uint32_t i = 0; i < kDevices; ++i) {
      PersonalValues::Device device(all, i);
      std::vector<float> loaded(model->personal);
      bool is_kept = false;
      ASSERT_EQ(LoadPersonal(*model, device.store(), {loaded.data(), loaded.size()}, &is_kept),
                Status::kOk);
      EXPECT_EQ(is_kept, i > 0) << "device 0 has saved nothing";
      EXPECT_EQ(loaded, is_kept ? values_of(i) : loaded);
    }
  }
}

TEST(DeviceAccuracies, QuantilesAreFiguresOfDevices) {
  const AccuracySpread one = AccuracySpreadOf({0.5});
  EXPECT_EQ(Figures(one), (std::vector<double>{0.5, 0.5, 0.5, 0.5, 0.5, 0.5}));
  std::vector<double> values;
  for (int i = 20; i >= 1; --i) values.push_back(i);
  EXPECT_EQ(Figures(AccuracySpreadOf(values)), (std::vector<double>{10.5, 2, 5, 10, 15, 18}));
}

}  // namespace
}  // namespace sotto::server
