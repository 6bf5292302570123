// Privacy loss distributions, against independent bounds and exact cases.
#include "accounting/pld.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <vector>

#include "accounting/gdp.h"
#include "accounting/log_space.h"
#include "accounting/round_loss.h"
#include "unit/privacy/accountant_csv.h"

namespace sotto::privacy {
namespace {

using Rounds = std::vector<GaussianRounds>;

double Upper(const Rounds& rounds, double delta) { return Pld(rounds, delta).Epsilon(delta); }

// The reference's own discretisation is its error: its upper bound is up to 3 % above the truth at
// 100,000 rounds, so ours may be below it by any amount that keeps above its lower bound.
TEST(PldTest, AgreesWithTheReferencesBounds) {
  int rows = 0;
  double reference_lower = 0;
  for (const AccountantRow& row : ReadAccountantRows("poisson_gaussian")) {
    if (row.conversion == "pld_optimistic_lower_bound") reference_lower = row.value;
    if (row.conversion != "pld_pessimistic_upper_bound") continue;
    ++rows;
    const Pld pld({{Sampling::kPoisson, row.noise_multipliers.at(0), row.rates.at(0),
                    std::lround(row.rounds.at(0))}},
                  row.delta);
    const double upper = pld.Epsilon(row.delta);
    const double lower = pld.Epsilon(row.delta, Bound::kLower);
    EXPECT_GE(upper, reference_lower) << row.id;
    EXPECT_LE(upper, 1.01 * row.value) << row.id;
    EXPECT_LE(lower, row.value) << row.id;
    EXPECT_LE(lower, upper) << row.id;
  }
  EXPECT_EQ(rows, 41);
}

TEST(PldTest, ItsBoundsEncloseTheExactGaussianDownToDeltaOf1eMinus200) {
  for (const double z : {0.3, 1.0, 5.0, 40.0}) {
    for (const int64_t count : {1, 50, 5000}) {
      for (const double delta : {1e-2, 1e-5, 1e-20, 1e-200}) {
        const Pld pld({{Sampling::kNone, z, 1.0, count}}, delta);
        const double exact = GdpEpsilon(std::sqrt(static_cast<double>(count)) / z, delta);
        SCOPED_TRACE(testing::Message() << z << " " << count << " " << delta);
        EXPECT_GE(pld.Epsilon(delta), exact);
        EXPECT_LE(pld.Epsilon(delta), exact * (1 + 3e-4));
        EXPECT_LE(pld.Epsilon(delta, Bound::kLower), exact);
      }
    }
  }
}

TEST(PldTest, WithoutSamplingItsDirectionsAndItsPairsAreOne) {
  const double delta = 1e-6;
  const double plain = Upper({{Sampling::kNone, 2.0, 1.0, 30}}, delta);
  EXPECT_NEAR(Upper({{Sampling::kPoisson, 2.0, 1.0, 30}}, delta), plain, 1e-9 * plain);
  EXPECT_NEAR(Upper({{Sampling::kUniform, 2.0, 1.0, 30}}, delta), plain, 1e-9 * plain);
}

// One round: delta(ln(1 + q (e^e - 1))) = q delta_0(e), for Poisson sampling and for the dominating
// pair of a uniform cohort alike.
TEST(PldTest, OneRoundIsAmplifiedExactly) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    for (const double z : {0.4, 1.0, 3.0}) {
      for (const double q : {0.001, 0.05, 0.7}) {
        for (const double delta : {1e-3 * q, 1e-9}) {
          const double exact = std::log1p(q * std::expm1(GdpEpsilon(1 / z, delta / q)));
          const Pld pld({{sampling, z, q, 1}}, delta);
          SCOPED_TRACE(testing::Message()
                       << Name(sampling) << " " << z << " " << q << " " << delta);
          EXPECT_GE(pld.Epsilon(delta), exact * (1 - 1e-12));
          EXPECT_LE(pld.Epsilon(delta), exact * (1 + 1e-3));
          EXPECT_LE(pld.Epsilon(delta, Bound::kLower), exact);
        }
      }
    }
  }
}

// Whatever a device does under a uniform cohort, the losses at every order of Renyi's divergence
// are bounded by Theorem 9; the dominating pair's composition lies below the unsampled Gaussian's
// too.
TEST(PldTest, SamplingNeverCostsMoreThanNone) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    double last = 0;
    for (const double q : {0.001, 0.01, 0.1, 0.5, 0.9, 1.0}) {
      const double epsilon = Upper({{sampling, 1.1, q, 40}}, 1e-5);
      EXPECT_GT(epsilon, last) << Name(sampling) << q;
      last = epsilon;
    }
    EXPECT_LE(last, GdpEpsilon(std::sqrt(40) / 1.1, 1e-5) * (1 + 1e-4));
  }
}

TEST(PldTest, EpsilonIsMonotoneInEveryParameter) {
  for (const Sampling sampling : {Sampling::kPoisson, Sampling::kUniform}) {
    const double before = Upper({{sampling, 1.0, 0.02, 200}}, 1e-5);
    EXPECT_LT(Upper({{sampling, 1.01, 0.02, 200}}, 1e-5), before);
    EXPECT_LT(Upper({{sampling, 1.0, 0.0198, 200}}, 1e-5), before);
    EXPECT_LT(Upper({{sampling, 1.0, 0.02, 199}}, 1e-5), before);
    EXPECT_LT(Upper({{sampling, 1.0, 0.02, 200}}, 1.02e-5), before);
  }
}

TEST(PldTest, NeitherOrderNorGroupingOfRoundsChangesABit) {
  const Rounds rounds = {{Sampling::kPoisson, 1.0, 0.02, 20},
                         {Sampling::kPoisson, 2.0, 0.05, 7},
                         {Sampling::kNone, 9.0, 1.0, 2}};
  Rounds split = rounds;
  std::reverse(split.begin(), split.end());
  split.push_back({Sampling::kPoisson, 1.0, 0.02, 5});
  for (GaussianRounds& r : split) {
    if (r.rounds == 20) r.rounds = 15;
  }
  split.push_back({Sampling::kPoisson, 0.5, 0.0, 10});  // nobody takes part
  split.push_back({Sampling::kPoisson, 0.0, 0.5, 0});   // no rounds
  const double epsilon = Upper(rounds, 1e-6);
  EXPECT_EQ(Upper(split, 1e-6), epsilon);
  EXPECT_GT(epsilon, Upper({rounds[0], rounds[1]}, 1e-6));
}

TEST(PldTest, DifferentRoundsComposeAsTheyShould) {
  // Exact where nothing is sampled.
  const Rounds rounds = {{Sampling::kNone, 3.0, 1.0, 4}, {Sampling::kNone, 1.5, 1.0, 1}};
  const double exact = GdpEpsilon(UnsampledMu(rounds), 1e-5);
  EXPECT_GE(Upper(rounds, 1e-5), exact);
  EXPECT_LE(Upper(rounds, 1e-5), exact * (1 + 1e-4));
  // Rounds that differ by nothing visible are rounds of one kind.
  const double same = Upper({{Sampling::kPoisson, 1.0, 0.05, 60}}, 1e-5);
  const double nearly =
      Upper({{Sampling::kPoisson, 1.0, 0.05, 30}, {Sampling::kPoisson, 1 + 1e-9, 0.05, 30}}, 1e-5);
  EXPECT_NEAR(nearly, same, 1e-4 * same);
}

TEST(PldTest, OtherDeltasThanTheOneItWasBuiltForAreSoundAndCloseNearby) {
  const Rounds rounds = {{Sampling::kPoisson, 1.0, 0.05, 100}};
  const Pld pld(rounds, 1e-5);
  for (const double delta : {1e-7, 9.9e-6, 1e-4}) {
    const double tight = Upper(rounds, delta);
    EXPECT_GE(pld.Epsilon(delta), tight * (1 - 1e-4)) << delta;
    EXPECT_LE(pld.Epsilon(delta), tight * (1 + 1e-4)) << delta;
  }
  EXPECT_GE(pld.Epsilon(1e-30), Pld(rounds, 1e-30).Epsilon(1e-30, Bound::kLower));
  EXPECT_GE(pld.Epsilon(0.3), Pld(rounds, 0.3).Epsilon(0.3, Bound::kLower));
}

TEST(PldTest, WhatItDoesNotCoverIsInfiniteNotANumber) {
  for (const Rounds& rounds :
       {Rounds{{Sampling::kPoisson, 0.03, 0.1, 1}}, Rounds{{Sampling::kPoisson, 0.0, 0.1, 1}},
        Rounds{{Sampling::kPoisson, 1.0, 1e-10, 1}},
        Rounds{{Sampling::kPoisson, 1.0, 0.1, 20'000'000'000}},
        Rounds{{Sampling::kPoisson, 1.0, 0.1, 1}, {Sampling::kUniform, 1.0, 0.1, 1}}}) {
    EXPECT_EQ(Upper(rounds, 1e-5), kInfinity);
    EXPECT_EQ(Pld(rounds, 1e-5).Epsilon(1e-5, Bound::kLower), 0);
  }
  EXPECT_EQ(Upper({{Sampling::kPoisson, 1.0, 0.1, 1}}, 1e-201), kInfinity);
  EXPECT_EQ(Upper({}, 1e-5), 0);
}

TEST(PldTest, BadArgumentsThrow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(Pld({}, 0), std::invalid_argument);
  EXPECT_THROW(Pld({}, 1), std::invalid_argument);
  EXPECT_THROW(Pld({{Sampling::kPoisson, nan, 0.1, 1}}, 1e-5), std::invalid_argument);
  EXPECT_THROW(Pld({{Sampling::kPoisson, 1, 1.1, 1}}, 1e-5), std::invalid_argument);
  EXPECT_THROW(Pld({{Sampling::kPoisson, 1, 0.1, -1}}, 1e-5), std::invalid_argument);
  EXPECT_THROW(Pld({}, 0.1).Epsilon(nan), std::invalid_argument);
}

TEST(RoundLossTest, TheGridKeepsTheMassUnderBothNeighbours) {
  for (const LossPair pair : {LossPair::kRemove, LossPair::kAdd, LossPair::kReplace}) {
    for (const double z : {0.1, 0.5, 1.0, 20.0}) {
      for (const double q : {1e-6, 0.03, 0.6, 1.0}) {
        const GaussianRounds round = {Sampling::kPoisson, z, q, 1};
        const double step = std::exp2(-12);
        double mass = 0;
        double neighbour_mass = 0;
        int64_t last = std::numeric_limits<int64_t>::min();
        for (const GridPoint& point : Discretise(MakeRoundLoss(round, pair, -50), step)) {
          EXPECT_GT(point.mass, 0);
          EXPECT_GT(point.index, last);
          last = point.index;
          mass += point.mass;
          neighbour_mass += point.mass * std::exp(-step * static_cast<double>(point.index));
        }
        SCOPED_TRACE(testing::Message() << static_cast<int>(pair) << " " << z << " " << q);
        EXPECT_NEAR(mass, 1, 1e-12);
        EXPECT_LE(neighbour_mass, 1 + 1e-12);
        if (z >= 0.5) {  // else much of Q lies where P has next to nothing, and is not on the grid
          EXPECT_NEAR(neighbour_mass, 1, 1e-12);
        }
      }
    }
  }
}

// delta at the points of the grid is the definition's.
TEST(RoundLossTest, TheGridsDeltaIsExactAtItsPointsAndNeverTooSmallBetween) {
  const double z = 0.9;
  const double q = 0.2;
  const double step = std::exp2(-8);
  const auto exact = [&](double epsilon) {
    return q * GdpDelta(1 / z, std::log1p(std::expm1(epsilon) / q));
  };
  for (const LossPair pair : {LossPair::kRemove, LossPair::kReplace}) {
    const GridLoss grid =
        Discretise(MakeRoundLoss({Sampling::kPoisson, z, q, 1}, pair, -100), step);
    const auto delta = [&](double epsilon) {
      double sum = 0;
      for (const GridPoint& point : grid) {
        const double loss = step * static_cast<double>(point.index);
        if (loss > epsilon) sum += point.mass * -std::expm1(epsilon - loss);
      }
      return sum;
    };
    for (const int k : {0, 1, 20, 64, 128, 384}) {  // 384 = 1.5 / step: a point of the coarser part
      EXPECT_NEAR(delta(k * step), exact(k * step), 1e-12 * exact(k * step)) << k;
      EXPECT_GT(delta((k + 0.5) * step), exact((k + 0.5) * step)) << k;
    }
  }
}

}  // namespace
}  // namespace sotto::privacy
