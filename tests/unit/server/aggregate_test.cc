// Tests of aggregation: sums, parallel loops, estimators, optimisers and the merging of parts.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "aggregate/accumulator.h"
#include "aggregate/methods.h"
#include "aggregate/partial_sum.h"
#include "aggregate/smoothing.h"
#include "aggregate/tensors.h"
#include "base/parallel.h"
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

// The model after a sum of these integers is applied to these parameters.
bool Step(const std::vector<int64_t>& sum, double unit, double divisor,
          const AggregationOptions& options, std::vector<float>* parameters) {
  const std::vector<TrainedTensor> tensors = TrainedTensors(Model());
  const std::vector<float> update = MakeEstimator(options)->Estimate(
      {{sum.data(), sum.size()}, unit, divisor, 0.0, {tensors.data(), tensors.size()}});
  return MakeOptimiser(options)->Step({update.data(), update.size()},
                                      {parameters->data(), parameters->size()});
}

TEST(Methods, AddTheScaledAverage) {
  std::vector<int64_t> sum(Model().parameters);
  std::vector<float> parameters(Model().parameters, 1.0f);
  for (size_t j = 0; j < sum.size(); ++j) sum[j] = static_cast<int64_t>(j) - 300;
  EXPECT_TRUE(Step(sum, 0.5, 10.0, {2.0, 0.0}, &parameters));
  for (size_t j = 0; j < sum.size(); ++j) {
    EXPECT_FLOAT_EQ(parameters[j], 1.0f + 2.0f * 0.5f * static_cast<float>(sum[j]) / 10.0f);
  }
}

TEST(Methods, SmoothEachTensorOnItsOwn) {
  std::vector<int64_t> sum(Model().parameters);
  for (size_t j = 0; j < sum.size(); ++j) sum[j] = static_cast<int64_t>(j * j % 101);
  std::vector<float> parameters(sum.size());
  EXPECT_TRUE(Step(sum, 1.0, 1.0, {1.0, 2.0}, &parameters));
  std::vector<float> expected(sum.begin(), sum.end());
  SmoothLaplacian({expected.data(), 640}, 2.0);
  SmoothLaplacian({expected.data() + 640, 10}, 2.0);
  EXPECT_EQ(parameters, expected);
}

TEST(Methods, ANonFiniteModelIsToldAndLeavesTheOldOne) {
  std::vector<int64_t> sum(Model().parameters, std::numeric_limits<int64_t>::max());
  std::vector<float> parameters(Model().parameters, 3.0f);
  EXPECT_FALSE(Step(sum, 1e30, 1.0, {}, &parameters));
  for (const float value : parameters) EXPECT_EQ(value, 3.0f);
}

TEST(Methods, RefuseSumsAndOptionsOutOfRange) {
  std::vector<int64_t> sum(Model().parameters);
  std::vector<float> parameters(Model().parameters);
  EXPECT_THROW(Step(sum, 0.0, 1.0, {}, &parameters), std::invalid_argument);
  EXPECT_THROW(Step(sum, 1.0, 0.0, {}, &parameters), std::invalid_argument);
  for (const AggregationOptions& bad :
       {AggregationOptions{-1.0, 0.0}, AggregationOptions{NAN, 0.0}, AggregationOptions{1.0, -1.0},
        AggregationOptions{1.0, NAN}, AggregationOptions{1.0, 1.1e6}}) {
    EXPECT_THROW(Step(sum, 1.0, 1.0, bad, &parameters), std::invalid_argument);
  }
  sum.pop_back();
  EXPECT_THROW(Step(sum, 1.0, 1.0, {}, &parameters), std::invalid_argument);
  parameters.pop_back();
  EXPECT_THROW(Step(std::vector<int64_t>(Model().parameters), 1.0, 1.0, {}, &parameters),
               std::invalid_argument);
}

TEST(Methods, AreChosenByWhatTheOptionsAskFor) {
  EXPECT_STREQ(ChooseEstimator({}).name, "mean");
  EXPECT_STREQ(ChooseEstimator({1.0, 0.5}).name, "laplacian");
  EXPECT_STREQ(ChooseOptimiser({}).name, "sgd");
}

TEST(Methods, TheFirstRowOfEachTableIsTheDefault) {
  EXPECT_EQ(&ChooseEstimator({}), &Estimators()[0]);
  EXPECT_EQ(&ChooseOptimiser({}), &Optimisers()[0]);
}

TEST(Methods, SgdHasNoStateAndTakesNone) {
  const auto sgd = MakeOptimiser({});
  EXPECT_TRUE(sgd->State().empty());
  EXPECT_NO_THROW(sgd->Restore({}));
  const uint8_t state[] = {1};
  EXPECT_THROW(sgd->Restore(state), std::runtime_error);
}

TEST(PartialSum, MergesByAddition) {
  PartialSum one({1, -2, 3});
  one.counts = {1, 2, 3, 400, {2, 8}, {4, 9}, {}};
  PartialSum other({10, 20, -30});
  other.counts = {5, 6, 7, 800, {1}, {6}, {2, 1, {{2, 1, 10, 4}}}};
  one.Merge(other);
  EXPECT_EQ(one.sums, (std::vector<int64_t>{11, 18, -27}));
  EXPECT_EQ(one.counts.checked_in, 6U);
  EXPECT_EQ(one.counts.reported, 8U);
  EXPECT_EQ(one.counts.rejected, 10U);
  EXPECT_EQ(one.counts.update_bytes, 1200U);
  EXPECT_EQ(one.counts.reporters, (std::vector<uint32_t>{1, 2, 8}));
  EXPECT_EQ(one.counts.beyond_bound, (std::vector<uint32_t>{4, 6, 9}));
  EXPECT_EQ(one.counts.lacking.devices, 2U);
  EXPECT_EQ(one.counts.lacking.by_need.at(0).least, 4U);
}

TEST(PartialSum, APartOfAnotherSizeChangesNothing) {
  PartialSum one({1, 2});
  PartialSum other({1});
  other.counts.reported = 1;
  EXPECT_THROW(one.Merge(other), std::invalid_argument);
  EXPECT_EQ(one.sums, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(one.counts.reported, 0U);
}

}  // namespace
}  // namespace sotto::server
