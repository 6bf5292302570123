// Tests of a simulation over several processes: it gives the same bytes as one process. The
// processes are threads here.
#include "sim/simulation.h"

#include <condition_variable>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "data/catalog.h"
#include "sotto/models.h"

namespace sotto::server {
namespace {

constexpr uint32_t kProcesses = 3;

SimulationConfig SmallSimulation() {
  SimulationConfig config;
  config.job.model = FindModel("softmax-784-10");
  config.job.plan.devices = config.fleet.devices = 40;
  config.job.plan.cohort = config.job.plan.planned_reports = 10;
  config.job.plan.rounds = 3;
  config.job.plan.dimension = config.job.model->parameters;
  config.job.plan.clip_l2 = 1.0;
  config.job.plan.noise_sigma = 0.25;
  config.job.plan.delta = 1e-3;
  config.job.training.clip_l2 = 1.0F;
  config.job.min_devices = 20;
  config.fleet.samples_per_device = 20;
  config.fleet.dropout = 0.3;
  config.seed = 7;
  return config;
}

// Adds the parts of all processes and hands each the total.
class Meeting {
 public:
  void Merge(PartialSum& part) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (arrived_ == 0)
      total_ = std::make_unique<PartialSum>(std::vector<int64_t>(part.sums.size()));
    total_->Merge(part);
    const int meeting = meeting_;
    if (++arrived_ == kProcesses) {
      shared_ = std::move(total_);
      arrived_ = 0;
      ++meeting_;
      all_.notify_all();
    }
    all_.wait(lock, [&] { return meeting_ != meeting; });
    part.sums = shared_->sums;
    part.counts = shared_->counts;
  }

 private:
  std::mutex mutex_;
  std::condition_variable all_;
  uint32_t arrived_ = 0;
  int meeting_ = 0;
  std::unique_ptr<PartialSum> total_;
  std::unique_ptr<const PartialSum> shared_;
};

TEST(Simulation, OverSeveralProcessesGivesTheBytesOfOne) {
  const TrainTest data = OpenTrainTest("synthetic", "", nullptr);
  const SimulationConfig config = SmallSimulation();
  const auto run = [&](const SimulationConfig& c) {
    return Simulate(c, data, [](const RoundReport&) {});
  };
  const SimulationResult alone = run(config);
  ASSERT_EQ(alone.rounds.size(), 3U);

  Meeting meeting;
  std::vector<std::future<SimulationResult>> processes;
  for (uint32_t i = 0; i < kProcesses; ++i) {
    SimulationConfig one = config;
    one.share = {i, kProcesses};
    one.merge = [&](PartialSum& part) { meeting.Merge(part); };
    processes.push_back(std::async(std::launch::async, [run, one] { return run(one); }));
  }
  for (auto& process : processes) {
    const SimulationResult result = process.get();
    EXPECT_EQ(result.parameters, alone.parameters);
    ASSERT_EQ(result.rounds.size(), alone.rounds.size());
    for (size_t i = 0; i < alone.rounds.size(); ++i) {
      EXPECT_EQ(result.rounds[i].outcome.reported, alone.rounds[i].outcome.reported);
      EXPECT_EQ(result.rounds[i].outcome.checked_in, alone.rounds[i].outcome.checked_in);
      EXPECT_EQ(result.rounds[i].outcome.topped_up, alone.rounds[i].outcome.topped_up);
    }
  }
}

TEST(Simulation, OverSeveralProcessesNeedsASeedAndAMergeOfSums) {
  const TrainTest data = OpenTrainTest("synthetic", "", nullptr);
  SimulationConfig config = SmallSimulation();
  config.share = {0, kProcesses};
  const auto run = [&] { Simulate(config, data, [](const RoundReport&) {}); };
  EXPECT_THROW(run(), std::invalid_argument);
  config.merge = [](PartialSum&) {};
  config.seed.reset();
  EXPECT_THROW(run(), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
