// The grid of released models: what is released lies on it, nothing is lost, and it follows the
// steps.
#include "aggregate/released_grid.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <vector>

#include "aggregate/methods.h"
#include "sotto/model_difference.h"
#include "spec/configuration.h"
#include "spec/job_request.h"

namespace sotto::server {
namespace {

constexpr size_t kSize = 2000;

AggregationOptions OnGrid(double c, const char* optimiser = "sgd") {
  AggregationOptions options;
  options.grid = c;
  options.server_optimiser = optimiser;
  return options;
}

// Independent, of this deviation.
std::vector<float> Noise(uint32_t seed, double deviation) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, deviation);
  std::vector<float> values(kSize);
  for (float& value : values) value = static_cast<float>(normal(random));
  return values;
}

void StepBy(Optimiser& optimiser, const std::vector<float>& update, std::vector<float>* model) {
  ASSERT_TRUE(optimiser.Step({update.data(), update.size()}, {model->data(), model->size()}));
}

// The largest exponent of a grid that has all of these.
int ExponentOf(const std::vector<float>& model) {
  const auto is_on = [&model](int e) {
    return std::all_of(model.begin(), model.end(), [e](float value) {
      const double units = std::ldexp(static_cast<double>(value), -e);
      return units == std::floor(units) && std::abs(units) <= kMostGridUnits;
    });
  };
  int e = kMostGridExponent;
  while (e > -40 && !is_on(e)) --e;
  return e;
}

TEST(ReleasedGrid, WhatRoundingTakesAwayComesBack) {
  const auto exact = MakeOptimiser(OnGrid(0));
  const auto rounded = MakeOptimiser(OnGrid(0.5));
  std::vector<float> a(kSize);
  std::vector<float> b(kSize);
  for (uint32_t t = 1; t <= 20; ++t) {
    StepBy(*exact, Noise(t, 0.01), &a);
    StepBy(*rounded, Noise(t, 0.01), &b);
    const double unit = std::ldexp(1, ExponentOf(b));
    for (size_t j = 0; j < kSize; ++j) {
      EXPECT_LE(std::abs(static_cast<double>(a[j]) - static_cast<double>(b[j])), unit / 2);
    }
  }
}

TEST(ReleasedGrid, GrowsWithTheNoiseThatHasAccumulated) {
  const auto optimiser = MakeOptimiser(OnGrid(0.25));
  std::vector<float> model(kSize);
  StepBy(*optimiser, Noise(1, 0.01), &model);
  EXPECT_EQ(ExponentOf(model), -9);  // 0.0025
  for (uint32_t t = 2; t <= 16; ++t) StepBy(*optimiser, Noise(t, 0.01), &model);
  EXPECT_EQ(ExponentOf(model), -7);  // 0.0100
  for (uint32_t t = 17; t <= 200; ++t) StepBy(*optimiser, Noise(t, 0.01), &model);
  EXPECT_EQ(ExponentOf(model), -6);  // 0.0354, and 2 s_t = 0.02
}

TEST(ReleasedGrid, FollowsANoiseThatFalls) {
  const auto optimiser = MakeOptimiser(OnGrid(0.25));
  std::vector<float> model(kSize);
  for (uint32_t t = 1; t <= 16; ++t) StepBy(*optimiser, Noise(t, 0.01), &model);
  StepBy(*optimiser, Noise(17, 0.001), &model);
  EXPECT_EQ(ExponentOf(model), -9);  // 2 s_t = 0.002
}

TEST(ReleasedGrid, TheExponentIsTheNearestInRatioAndHoldsEveryParameter) {
  EXPECT_EQ(GridExponent(0.0, 0.0), -20);
  EXPECT_EQ(GridExponent(1e9, 1.0), 0);
  EXPECT_EQ(GridExponent(std::ldexp(1.41, -5), 1.0), -5);
  EXPECT_EQ(GridExponent(std::ldexp(1.42, -5), 1.0), -4);
  EXPECT_EQ(GridExponent(0.0, 15.9), -20);
  EXPECT_EQ(GridExponent(0.0, 16.0), -19);
  EXPECT_EQ(GridExponent(0.0, 1e7), 0);
  EXPECT_EQ(GridExponent(0.0, 1.7e7), std::nullopt);
}

TEST(ReleasedGrid, AModelBeyondEveryGridIsReleasedAsItIs) {
  const auto optimiser = MakeOptimiser(OnGrid(0.25));
  std::vector<float> model(kSize);
  model[0] = 3e7F;
  model[1] = 0.3F;
  const std::vector<float> before = model;
  StepBy(*optimiser, std::vector<float>(kSize), &model);
  EXPECT_EQ(model, before);
}

TEST(ReleasedGrid, GoesOnWhereItsStateWasStored) {
  for (const char* name : {"sgd", "momentum", "adam"}) {
    const auto whole = MakeOptimiser(OnGrid(0.25, name));
    std::vector<float> model(kSize, 0.1F);
    for (uint32_t t = 1; t <= 3; ++t) StepBy(*whole, Noise(t, 0.01), &model);
    const auto resumed = MakeOptimiser(OnGrid(0.25, name));
    const std::vector<uint8_t> state = whole->State();
    resumed->Restore({state.data(), state.size()});
    std::vector<float> again = model;
    StepBy(*whole, Noise(4, 0.01), &model);
    StepBy(*resumed, Noise(4, 0.01), &again);
    EXPECT_EQ(model, again) << name;
    EXPECT_EQ(whole->State(), resumed->State()) << name;
  }
}

TEST(ReleasedGrid, TheStateOfAnExactJobIsRefused) {
  const std::vector<uint8_t> momentum = [] {
    const auto optimiser = MakeOptimiser(OnGrid(0, "momentum"));
    std::vector<float> model(kSize);
    StepBy(*optimiser, Noise(1, 0.01), &model);
    return optimiser->State();
  }();
  const auto grid = MakeOptimiser(OnGrid(0.25, "momentum"));
  EXPECT_THROW(grid->Restore({momentum.data(), momentum.size()}), std::runtime_error);
}

TEST(ReleasedGrid, AFactorOutOfRangeIsRefused) {
  EXPECT_THROW(MakeOptimiser(OnGrid(-0.1)), std::invalid_argument);
  EXPECT_THROW(MakeOptimiser(OnGrid(2.1)), std::invalid_argument);
}

TEST(ReleasedGrid, AJobFromBeforeThereWasAGridKeepsItsExactModels) {
  JobRequest request;
  EXPECT_EQ(request.job.aggregation.grid, kDefaultGrid);
  KeepBegun("a store", R"({"rounds": 3})", &request);
  EXPECT_EQ(request.job.aggregation.grid, 0);
  KeepBegun("a store", R"({"grid": 0.5})", &request);
  EXPECT_EQ(request.job.aggregation.grid, 0.5);
  request.given = {"grid"};
  KeepBegun("a store", R"({"rounds": 3})", &request);
  EXPECT_EQ(request.job.aggregation.grid, 0.5);
}

}  // namespace
}  // namespace sotto::server
