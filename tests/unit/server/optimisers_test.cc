// Tests of server optimisers and of the average of models, against plain references in double; and
// that a state goes on where it was stored, to the byte.
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "aggregate/methods.h"
#include "aggregate/model_average.h"

namespace sotto::server {
namespace {

constexpr size_t kSize = 50;

std::vector<float> RandomUpdate(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> update(kSize);
  for (float& value : update) value = static_cast<float>(random() % 2001) / 1000 - 1;
  return update;
}

AggregationOptions Named(const char* optimiser, const char* average = "none") {
  AggregationOptions options;
  options.server_optimiser = optimiser;
  options.server_learning_rate = 0.3;
  options.average = average;
  return options;
}

bool Step(Optimiser& optimiser, const std::vector<float>& update, std::vector<float>* parameters) {
  return optimiser.Step({update.data(), update.size()}, {parameters->data(), parameters->size()});
}

// The models after each of `rounds` steps, the first one before them.
std::vector<std::vector<float>> Models(Optimiser& optimiser, uint32_t rounds) {
  std::vector<std::vector<float>> models = {RandomUpdate(99)};
  for (uint32_t t = 1; t <= rounds; ++t) {
    std::vector<float> next = models.back();
    EXPECT_TRUE(Step(optimiser, RandomUpdate(t), &next));
    models.push_back(next);
  }
  return models;
}

TEST(Momentum, AccumulatesUpdates) {
  const auto optimiser = MakeOptimiser(Named("momentum"));
  const auto models = Models(*optimiser, 8);
  for (size_t j = 0; j < kSize; ++j) {
    double w = static_cast<double>(models[0][j]);
    double v = 0;
    for (uint32_t t = 1; t <= 8; ++t) {
      v = 0.9 * v + static_cast<double>(RandomUpdate(t)[j]);
      w += 0.3 * v;
      EXPECT_NEAR(static_cast<double>(models[t][j]), w, 1e-5);
    }
  }
}

TEST(Adam, DividesTheMeanByTheRootOfTheMeanSquare) {
  const auto optimiser = MakeOptimiser(Named("adam"));
  const auto models = Models(*optimiser, 8);
  for (size_t j = 0; j < kSize; ++j) {
    double w = static_cast<double>(models[0][j]);
    double m = 0;
    double s = 0;
    for (int t = 1; t <= 8; ++t) {
      const auto u = static_cast<double>(RandomUpdate(static_cast<uint32_t>(t))[j]);
      m = 0.9 * m + 0.1 * u;
      s = 0.99 * s + 0.01 * u * u;
      w += 0.3 * (m / (1 - std::pow(0.9, t))) / (std::sqrt(s / (1 - std::pow(0.99, t))) + 1e-3);
      EXPECT_NEAR(static_cast<double>(models[static_cast<size_t>(t)][j]), w, 2e-5);
    }
  }
}

TEST(ModelAverage, WeighsAllModelsTheFirstOneIncluded) {
  for (const double ratio : {1.0, 1.25, 40.0}) {
    const auto optimiser =
        MakeOptimiser(Named("momentum", ("geometric:" + std::to_string(ratio)).c_str()));
    EXPECT_TRUE(optimiser->Average().empty());
    const auto models = Models(*optimiser, 6);
    const std::vector<float> average = optimiser->Average();
    for (size_t j = 0; j < kSize; ++j) {
      double sum = 0;
      double weights = 0;
      for (size_t t = 0; t < models.size(); ++t) {
        const double weight = std::pow(ratio, static_cast<double>(t));
        sum += weight * static_cast<double>(models[t][j]);
        weights += weight;
      }
      EXPECT_NEAR(static_cast<double>(average[j]), sum / weights, 1e-6);
    }
  }
}

TEST(ModelAverage, OfManyModelsStaysFinite) {
  const auto optimiser = MakeOptimiser(Named("sgd", "geometric:1000"));
  std::vector<float> model(1, 2.0F);
  for (int t = 0; t < 500; ++t) EXPECT_TRUE(Step(*optimiser, {0.0F}, &model));
  EXPECT_FLOAT_EQ(optimiser->Average().at(0), 2.0F);
}

TEST(ModelAverage, IsNamedByAText) {
  EXPECT_FALSE(AverageGrowth("none"));
  EXPECT_EQ(AverageGrowth("uniform"), 1.0);
  EXPECT_EQ(AverageGrowth("geometric:1.05"), 1.05);
  for (const char* bad : {"", "mean", "geometric", "geometric:", "geometric:0.9", "geometric:nan",
                          "geometric:inf", "geometric:1001", "geometric:1x", "uniform:2"}) {
    EXPECT_THROW(AverageGrowth(bad), std::invalid_argument) << bad;
  }
}

TEST(Optimisers, GoOnFromTheirStateToTheByte) {
  for (const char* name : {"sgd", "momentum", "adam"}) {
    for (const char* average : {"none", "uniform", "geometric:1.5"}) {
      const auto whole = MakeOptimiser(Named(name, average));
      const auto models = Models(*whole, 6);
      for (uint32_t stop = 0; stop <= 6; ++stop) {
        const auto first = MakeOptimiser(Named(name, average));
        std::vector<float> model = Models(*first, stop).back();
        const std::vector<uint8_t> state = first->State();
        const auto second = MakeOptimiser(Named(name, average));
        second->Restore({state.data(), state.size()});
        EXPECT_EQ(second->State(), state);
        for (uint32_t t = stop + 1; t <= 6; ++t)
          EXPECT_TRUE(Step(*second, RandomUpdate(t), &model));
        EXPECT_EQ(model, models.back()) << name << " " << average << " " << stop;
        EXPECT_EQ(second->State(), whole->State());
        EXPECT_EQ(second->Average(), whole->Average());
      }
    }
  }
}

TEST(Optimisers, RefuseTheStateOfAnotherOneAndDamage) {
  const auto state_of = [](const char* name, const char* average) {
    const auto optimiser = MakeOptimiser(Named(name, average));
    Models(*optimiser, 2);
    return optimiser->State();
  };
  const std::pair<const char*, const char*> kinds[] = {
      {"momentum", "none"}, {"adam", "none"}, {"sgd", "uniform"}, {"adam", "uniform"}};
  for (const auto& [name, average] : kinds) {
    for (const auto& [other, other_average] : kinds) {
      const std::vector<uint8_t> state = state_of(other, other_average);
      const auto optimiser = MakeOptimiser(Named(name, average));
      if (std::string(name) == other && std::string(average) == other_average) continue;
      // The state of sgd is no bytes, and so is the state of adam before its first step. The
      // stored configuration tells these jobs apart.
      if (std::string(other) == "sgd" && std::string(average) == other_average) continue;
      EXPECT_THROW(optimiser->Restore({state.data(), state.size()}), std::runtime_error)
          << name << average << other << other_average;
    }
    std::vector<uint8_t> state = state_of(name, average);
    state.push_back(0);
    EXPECT_THROW(MakeOptimiser(Named(name, average))->Restore({state.data(), state.size()}),
                 std::runtime_error);
    state.resize(state.size() - 2);
    EXPECT_THROW(MakeOptimiser(Named(name, average))->Restore({state.data(), state.size()}),
                 std::runtime_error);
    state[0] += 1;  // a version that this program does not know
    EXPECT_THROW(MakeOptimiser(Named(name, average))->Restore({state.data(), state.size()}),
                 std::runtime_error);
  }
}

TEST(Optimisers, LeaveModelAndStateWhenTheNextModelIsNotFinite) {
  for (const char* name : {"sgd", "momentum", "adam"}) {
    const auto optimiser = MakeOptimiser(Named(name, "uniform"));
    std::vector<float> model = Models(*optimiser, 2).back();
    const std::vector<float> before = model;
    const std::vector<uint8_t> state = optimiser->State();
    std::vector<float> update = RandomUpdate(3);
    update[kSize - 1] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(Step(*optimiser, update, &model)) << name;
    EXPECT_EQ(model, before);
    EXPECT_EQ(optimiser->State(), state);
  }
}

TEST(Optimisers, RefuseOptionsOutOfRange) {
  const auto expect_refusal = [](const char* name, double AggregationOptions::*member,
                                 double value) {
    AggregationOptions options = Named(name);
    options.*member = value;
    EXPECT_THROW(MakeOptimiser(options), std::invalid_argument) << name << " " << value;
  };
  for (const char* name : {"sgd", "momentum", "adam"}) {
    for (const double bad : {0.0, -1.0, static_cast<double>(NAN), HUGE_VAL}) {
      expect_refusal(name, &AggregationOptions::server_learning_rate, bad);
    }
  }
  for (const double bad : {-0.1, 1.0, static_cast<double>(NAN)}) {
    expect_refusal("momentum", &AggregationOptions::server_momentum, bad);
    expect_refusal("adam", &AggregationOptions::adam_beta1, bad);
    expect_refusal("adam", &AggregationOptions::adam_beta2, bad);
  }
  expect_refusal("adam", &AggregationOptions::adam_epsilon, 0);
  EXPECT_THROW(MakeOptimiser(Named("adagrad")), std::invalid_argument);
  const auto momentum = MakeOptimiser(Named("momentum"));
  std::vector<float> small(3);
  EXPECT_TRUE(Step(*momentum, {1, 2, 3}, &small));
  std::vector<float> other(4);
  EXPECT_THROW(Step(*momentum, {1, 2, 3, 4}, &other), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
