// Tests of the cohort draw under each sampling scheme. Keys are fixed.
#include "round/cohort.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <stdexcept>

namespace sotto::server {
namespace {

using privacy::Sampling;

RandomStream Stream(uint32_t number) { return {Key(), number}; }

TEST(Cohort, UniformDrawsExactlySoManyDistinctDevices) {
  RandomStream random = Stream(1);
  for (const uint32_t cohort : {1u, 7u, 99u, 100u}) {
    const auto drawn = DrawCohort(Sampling::kUniform, 100, cohort, random);
    EXPECT_EQ(drawn.size(), cohort);
    EXPECT_TRUE(std::is_sorted(drawn.begin(), drawn.end()));
    EXPECT_EQ(std::set<uint32_t>(drawn.begin(), drawn.end()).size(), cohort);
    EXPECT_LT(drawn.back(), 100u);
  }
}

// Each of 20 devices is drawn with probability 1/4; over 40,000 rounds its count has deviation 87,
// and six deviations are exceeded with probability 2e-9, by any of the 20 with 4e-8 for a random
// key; the key is fixed.
TEST(Cohort, EveryDeviceHasTheSameChance) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    RandomStream random = Stream(2);
    int counts[20] = {};
    for (int round = 0; round < 40000; ++round) {
      for (const uint32_t device : DrawCohort(sampling, 20, 5, random)) ++counts[device];
    }
    for (const int count : counts) EXPECT_NEAR(count, 10000, 525);
  }
}

// A uniform cohort's pairs are drawn with chance B(B-1)/(N(N-1)) = 0.0526, Poisson's with q^2.
TEST(Cohort, PairsAreAsIndependentAsTheSchemeSays) {
  const auto pairs = [](Sampling sampling) {
    RandomStream random = Stream(3);
    int together = 0;
    for (int round = 0; round < 40000; ++round) {
      const auto drawn = DrawCohort(sampling, 20, 5, random);
      together += drawn.size() >= 2 && drawn[0] == 0 && drawn[1] == 1 ? 1 : 0;
    }
    return together;
  };
  EXPECT_NEAR(pairs(Sampling::kUniform), 40000 * 20.0 / 380, 6 * 45);
  EXPECT_NEAR(pairs(Sampling::kPoisson), 40000 / 16.0, 6 * 49);
}

TEST(Cohort, PoissonSizesVaryAndNoneTakesAll) {
  RandomStream random = Stream(4);
  std::set<size_t> sizes;
  for (int i = 0; i < 100; ++i) {
    sizes.insert(DrawCohort(Sampling::kPoisson, 100, 10, random).size());
  }
  EXPECT_GT(sizes.size(), 5u);
  EXPECT_EQ(DrawCohort(Sampling::kNone, 9, 9, random).size(), 9u);
  EXPECT_EQ(DrawCohort(Sampling::kPoisson, 9, 9, random).size(), 9u);
}

TEST(Cohort, ImpossibleSizesAreRefused) {
  RandomStream random = Stream(5);
  EXPECT_THROW(DrawCohort(Sampling::kUniform, 5, 6, random), std::invalid_argument);
  EXPECT_THROW(DrawCohort(Sampling::kUniform, 5, 0, random), std::invalid_argument);
}

TEST(CohortByTurns, TheLeastUsedAreAskedFirst) {
  RandomStream random = Stream(5);
  std::vector<Candidate> candidates;
  for (uint32_t device = 0; device < 20; ++device) {
    candidates.push_back({2 * device, device % 4, true});
  }
  EXPECT_EQ(ChooseByTurns(candidates, 5, random), (std::vector<uint32_t>{0, 8, 16, 24, 32}));
  const std::vector<uint32_t> seven = ChooseByTurns(candidates, 7, random);
  EXPECT_EQ(seven.size(), 7u);
  for (const uint32_t device : seven) EXPECT_LE(device / 2 % 4, 1u);
  EXPECT_TRUE(std::is_sorted(seven.begin(), seven.end()));
}

TEST(CohortByTurns, OfTheLeastUsedTheRestedOnesComeFirstAndNobodyIsShutOut) {
  RandomStream random = Stream(6);
  const std::vector<Candidate> candidates = {
      {0, 1, true}, {1, 1, false}, {2, 1, true}, {3, 2, true}, {4, 1, false}};
  EXPECT_EQ(ChooseByTurns(candidates, 2, random), (std::vector<uint32_t>{0, 2}));
  EXPECT_EQ(ChooseByTurns(candidates, 4, random), (std::vector<uint32_t>{0, 1, 2, 4}));
  EXPECT_EQ(ChooseByTurns(candidates, 5, random).size(), 5u);
  EXPECT_THROW(ChooseByTurns(candidates, 6, random), std::invalid_argument);
  EXPECT_THROW(ChooseByTurns({}, 1, random), std::invalid_argument);
}

// Each of 20 devices with equally many turns is asked with probability 1/4: as above.
TEST(CohortByTurns, TiesAreBrokenByTheSeed) {
  RandomStream random = Stream(7);
  std::vector<Candidate> candidates;
  for (uint32_t device = 0; device < 20; ++device) candidates.push_back({device, 3, true});
  int counts[20] = {};
  for (int round = 0; round < 40000; ++round) {
    for (const uint32_t device : ChooseByTurns(candidates, 5, random)) ++counts[device];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 525);
}

}  // namespace
}  // namespace sotto::server
