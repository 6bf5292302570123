#include <algorithm>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/parallel.h"
#include "aggregate/server_step.h"
#include "aggregate/smoothing.h"
#include "sotto/models.h"

namespace sotto::server {
namespace {

std::vector<int64_t> SumOf(const std::vector<std::vector<int32_t>>& updates, int threads) {
  Accumulator sum(updates[0].size());
  ParallelFor(threads, updates.size(), [&](size_t i, int) {
    sum.Add(Span<const int32_t>(updates[i].data(), updates[i].size()));
  });
  EXPECT_EQ(sum.updates(), updates.size());
  return {sum.sums().begin(), sum.sums().end()};
}

TEST(Accumulator, SumDoesNotDependOnThreadsOrOrder) {
  std::mt19937 random(1);
  std::vector<std::vector<int32_t>> updates(40, std::vector<int32_t>(333));
  for (auto& update : updates) {
    for (int32_t& value : update) value = static_cast<int32_t>(random());
  }
  const auto one = SumOf(updates, 1);
  EXPECT_EQ(SumOf(updates, 4), one);
  std::shuffle(updates.begin(), updates.end(), random);
  EXPECT_EQ(SumOf(updates, 3), one);
}

TEST(Accumulator, AnUpdateOfAnotherSizeChangesNothing) {
  Accumulator sum(3);
  const int32_t two[] = {1, 2};
  EXPECT_THROW(sum.Add(Span<const int32_t>(two)), std::invalid_argument);
  EXPECT_EQ(sum.updates(), 0u);
  EXPECT_EQ(sum.sums()[0], 0);
}

TEST(ParallelFor, VisitsEveryIndexOnceAndPassesOnAnException) {
  std::vector<std::atomic<int>> visits(1000);
  ParallelFor(4, visits.size(), [&](size_t i, int worker) {
    EXPECT_GE(worker, 0);
    EXPECT_LT(worker, 4);
    ++visits[i];
  });
  for (const auto& count : visits) EXPECT_EQ(count, 1);
  EXPECT_THROW(ParallelFor(3, 100,
                           [](size_t i, int) {
                             if (i == 50) throw std::runtime_error("fifty");
                           }),
               std::runtime_error);
  ParallelFor(2, 0, [](size_t, int) { FAIL(); });
}

const ModelInfo& Model() { return *FindModel("softmax-64-10"); }

TEST(ServerStep, AddsTheScaledAverage) {
  std::vector<int64_t> sum(Model().parameters);
  std::vector<float> parameters(Model().parameters, 1.0f);
  for (size_t j = 0; j < sum.size(); ++j) sum[j] = static_cast<int64_t>(j) - 300;
  EXPECT_TRUE(ApplyServerStep(Model(), {sum.data(), sum.size()}, {0.5, 10.0, 2.0, 0.0},
                              {parameters.data(), parameters.size()}));
  for (size_t j = 0; j < sum.size(); ++j) {
    EXPECT_FLOAT_EQ(parameters[j], 1.0f + 2.0f * 0.5f * static_cast<float>(sum[j]) / 10.0f);
  }
}

TEST(ServerStep, SmoothsEachTensorOnItsOwn) {
  std::vector<int64_t> sum(Model().parameters);
  for (size_t j = 0; j < sum.size(); ++j) sum[j] = static_cast<int64_t>(j * j % 101);
  std::vector<float> parameters(sum.size());
  EXPECT_TRUE(ApplyServerStep(Model(), {sum.data(), sum.size()}, {1.0, 1.0, 1.0, 2.0},
                              {parameters.data(), parameters.size()}));
  std::vector<float> expected(sum.begin(), sum.end());
  SmoothLaplacian({expected.data(), 640}, 2.0);
  SmoothLaplacian({expected.data() + 640, 10}, 2.0);
  EXPECT_EQ(parameters, expected);
}

TEST(ServerStep, ANonFiniteModelIsToldAndLeavesTheOldOne) {
  std::vector<int64_t> sum(Model().parameters, std::numeric_limits<int64_t>::max());
  std::vector<float> parameters(Model().parameters, 3.0f);
  EXPECT_FALSE(ApplyServerStep(Model(), {sum.data(), sum.size()}, {1e30, 1.0, 1.0, 0.0},
                               {parameters.data(), parameters.size()}));
  for (const float value : parameters) EXPECT_EQ(value, 3.0f);
}

TEST(ServerStep, RefusesOptionsOutOfRange) {
  std::vector<int64_t> sum(Model().parameters);
  std::vector<float> parameters(Model().parameters);
  const auto step = [&](const ServerStepOptions& options) {
    return ApplyServerStep(Model(), {sum.data(), sum.size()}, options,
                           {parameters.data(), parameters.size()});
  };
  EXPECT_THROW(step({0.0, 1.0, 1.0, 0.0}), std::invalid_argument);
  EXPECT_THROW(step({1.0, 0.0, 1.0, 0.0}), std::invalid_argument);
  EXPECT_THROW(step({1.0, 1.0, -1.0, 0.0}), std::invalid_argument);
  sum.pop_back();
  EXPECT_THROW(step({1.0, 1.0, 1.0, 0.0}), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
