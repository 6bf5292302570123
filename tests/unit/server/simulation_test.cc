// Tests of a simulation over several ranks: it gives the same bytes as one process. The ranks are
// threads here.
#include "sim/simulation.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <fstream>
#include <future>
#include <gtest/gtest.h>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "sim/simulation_request.h"
#include "sotto/models.h"
#include "unit/test_folder.h"

namespace sotto::server {
namespace {

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

// Where the ranks meet: each gives what it has and gets what all gave.
class Meeting {
 public:
  explicit Meeting(uint32_t ranks) : given_(ranks) {}

  std::vector<std::string> Exchange(uint32_t index, const std::string& mine) {
    std::unique_lock<std::mutex> lock(mutex_);
    given_[index] = mine;
    const int meeting = meeting_;
    if (++arrived_ == given_.size()) {
      all_ = given_;
      arrived_ = 0;
      ++meeting_;
      they_have_met_.notify_all();
    }
    they_have_met_.wait(lock, [&] { return meeting_ != meeting; });
    return all_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable they_have_met_;
  std::vector<std::string> given_;
  std::vector<std::string> all_;
  size_t arrived_ = 0;
  int meeting_ = 0;
};

class ThreadRank : public Ranks {
 public:
  ThreadRank(uint32_t index, uint32_t count, Meeting* meeting)
      : index_(index), count_(count), meeting_(*meeting) {}

  uint32_t index() const override { return index_; }
  uint32_t count() const override { return count_; }

  void Sum(Span<int64_t> values) override {
    const size_t size = values.size() * sizeof(int64_t);
    const std::string mine(reinterpret_cast<const char*>(values.data()), size);
    std::fill(values.begin(), values.end(), 0);
    for (const std::string& each : meeting_.Exchange(index_, mine)) {
      ASSERT_EQ(each.size(), size);
      for (size_t i = 0; i < values.size(); ++i) {
        int64_t value = 0;
        std::memcpy(&value, each.data() + i * sizeof(value), sizeof(value));
        values[i] += value;
      }
    }
  }

  std::vector<std::string> Gather(const std::string& mine) override {
    return meeting_.Exchange(index_, mine);
  }

 private:
  const uint32_t index_;
  const uint32_t count_;
  Meeting& meeting_;
};

// What each of `count` ranks gets.
std::vector<SimulationResult> OverRanks(uint32_t count, const SimulationConfig& config,
                                        const TrainTest& data) {
  Meeting meeting(count);
  std::vector<std::future<SimulationResult>> ranks;
  for (uint32_t i = 0; i < count; ++i) {
    ranks.push_back(std::async(std::launch::async, [&, i] {
      ThreadRank rank(i, count, &meeting);
      SimulationConfig one = config;
      one.ranks = &rank;
      return Simulate(one, data, [](const RoundReport&) {});
    }));
  }
  std::vector<SimulationResult> results;
  for (auto& rank : ranks) results.push_back(rank.get());
  return results;
}

// The whole of what a simulation gives, as it lies in files.
std::string TextOf(const SimulationResult& result) { return ToText(result.state); }

TEST(SimulationOverRanks, GivesTheBytesOfOneProcess) {
  const TrainTest data = OpenTrainTest("synthetic", "", nullptr);
  SimulationConfig config = SmallSimulation();
  const SimulationResult alone = Simulate(config, data, [](const RoundReport&) {});
  ASSERT_EQ(alone.rounds.size(), 3U);
  for (const uint32_t count : {1U, 2U, 3U, 4U}) {
    config.threads = static_cast<int>(count % 3 + 1);
    for (const SimulationResult& result : OverRanks(count, config, data)) {
      EXPECT_EQ(result.parameters, alone.parameters);
      EXPECT_EQ(TextOf(result), TextOf(alone)) << count << " ranks";
      EXPECT_EQ(result.last->loss, alone.last->loss);
    }
  }
}

TEST(SimulationOverRanks, GoesOnWithAnotherNumberOfThem) {
  const TrainTest data = OpenTrainTest("synthetic", "", nullptr);
  SimulationConfig config = SmallSimulation();
  config.job.model = FindModel("small-cnn");  // whose first parameters are drawn
  config.job.plan.dimension = config.job.model->parameters;
  const SimulationResult whole = Simulate(config, data, [](const RoundReport&) {});
  std::atomic<int> asked{0};
  config.stop = [&] { return asked++ > 14; };  // before each device, too: somewhere in a round
  const std::vector<SimulationResult> first = OverRanks(3, config, data);
  for (const SimulationResult& result : first) {
    EXPECT_TRUE(result.stopped);
    EXPECT_LT(result.rounds.size(), 3U);
    EXPECT_EQ(TextOf(result), TextOf(first[0]));
  }
  config.stop = nullptr;
  config.resume = RunStateFromText("state", TextOf(first[1]));
  for (const SimulationResult& result : OverRanks(2, config, data)) {
    EXPECT_EQ(TextOf(result), TextOf(whole));
  }
}

TEST(SimulationOverRanks, WithoutASeedTheyHaveOneKey) {
  const TrainTest data = OpenTrainTest("synthetic", "", nullptr);
  SimulationConfig config = SmallSimulation();
  config.seed.reset();
  const std::vector<SimulationResult> results = OverRanks(2, config, data);
  EXPECT_EQ(TextOf(results[0]), TextOf(results[1]));
  EXPECT_NE(results[0].parameters, Simulate(config, data, [](const RoundReport&) {}).parameters);
}

TEST(SimulationOverRanks, WhatFailsOnOneFailsOnAll) {
  Meeting meeting(2);
  const auto work = [&](uint32_t index) {
    ThreadRank rank(index, 2, &meeting);
    try {
      rank.Together([&] {
        if (index == 1) throw std::runtime_error("no such file");
      });
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    return std::string("it went well");
  };
  std::future<std::string> other = std::async(std::launch::async, [&] { return work(1); });
  EXPECT_EQ(work(0), "rank 1: no such file");
  EXPECT_EQ(other.get(), "no such file");
}

// The data that each rank simulates with, if one rank's machine has another folder.
std::vector<std::string> ChosenData(const std::string& folder_of_0, const std::string& folder_of_1,
                                    const SimulationRequest& asked) {
  Meeting meeting(2);
  const auto choose = [&](uint32_t index, const std::string& folder) {
    ThreadRank rank(index, 2, &meeting);
    SimulationRequest request = asked;
    const std::string warning = ChooseData(rank, &request, folder);
    return request.data + (warning.empty() ? "" : " with a warning");
  };
  std::future<std::string> other =
      std::async(std::launch::async, [&] { return choose(1, folder_of_1); });
  const std::string mine = choose(0, folder_of_0);
  return {mine, other.get()};
}

TEST(SimulationOverRanks, MadeUpSamplesStandInOnAllIfOneLacksTheDefaultData) {
  const TestFolder there;
  for (const char* part : {"train", "t10k"}) {
    for (const char* kind : {"-images-idx3-ubyte", "-labels-idx1-ubyte"}) {
      std::ofstream(there.Path(std::string(part) + kind)) << "x";
    }
  }
  const std::string is = there.path();
  const std::string lacks = there.Path("nowhere");
  using Both = std::vector<std::string>;
  const std::string stand_in = "synthetic with a warning";
  SimulationRequest request;
  EXPECT_EQ(ChosenData(is, is, request), Both({"fashion-mnist", "fashion-mnist"}));
  EXPECT_EQ(ChosenData(is, lacks, request), Both({stand_in, stand_in}));
  EXPECT_EQ(ChosenData(lacks, lacks, request), Both({stand_in, stand_in}));
  request.given.insert("data");
  EXPECT_EQ(ChosenData(lacks, lacks, request), Both({"fashion-mnist", "fashion-mnist"}));
}

}  // namespace
}  // namespace sotto::server
