// Conversion from RDP to (epsilon, delta), against independent values.
#include "accounting/conversion.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "accounting/rdp.h"
#include "unit/privacy/accountant_csv.h"
#include "unit/privacy/figures.h"

namespace sotto::privacy {
namespace {

std::vector<GaussianRounds> RoundsOf(const AccountantRow& row, Sampling sampling) {
  std::vector<GaussianRounds> rounds;
  for (size_t i = 0; i < row.rounds.size(); ++i) {
    rounds.push_back(
        {sampling, row.noise_multipliers[i], row.rates[i], static_cast<int64_t>(row.rounds[i])});
  }
  return rounds;
}

// The curve of all the row's rounds; uniform rows were computed by Theorem 9.
RdpCurve CurveOf(const AccountantRow& row, Sampling sampling) {
  if (sampling != Sampling::kUniform) {
    return [rounds = RoundsOf(row, sampling)](double order) { return ComposedRdp(rounds, order); };
  }
  return [row](double order) {
    return row.rounds[0] * RdpUniform(row.noise_multipliers[0], row.rates[0], order);
  };
}

void CheckEpsilonRow(const AccountantRow& row, Sampling sampling) {
  SCOPED_TRACE(row.id);
  const Conversion conversion =
      row.conversion == "classic" ? Conversion::kClassic : Conversion::kImproved;
  const RdpCurve curve = CurveOf(row, sampling);
  if (row.orders_set == "continuous") {
    const double epsilon = EpsilonOfCurve(curve, row.delta, conversion).unclipped;
    EXPECT_NEAR(epsilon, row.value, 1e-6 * std::abs(row.value));
  } else {
    const double epsilon =
        EpsilonOfCurveAtOrders(curve, row.delta, ParseOrders(row.orders_set), conversion).unclipped;
    EXPECT_NEAR(epsilon, row.value, 1e-9 + 1e-9 * std::abs(row.value));
  }
}

size_t CheckEpsilonRows(const char* mechanism, Sampling sampling) {
  size_t checked = 0;
  for (const AccountantRow& row : ReadAccountantRows(mechanism)) {
    if (row.quantity != "epsilon" || row.orders_set.empty()) continue;
    CheckEpsilonRow(row, sampling);
    ++checked;
  }
  return checked;
}

TEST(ConversionTest, PoissonEpsilonMatchesEveryIndependentValue) {
  EXPECT_EQ(CheckEpsilonRows("poisson_gaussian", Sampling::kPoisson), 6u * 41u);
}

TEST(ConversionTest, HeterogeneousEpsilonMatchesEveryIndependentValue) {
  EXPECT_EQ(CheckEpsilonRows("poisson_gaussian_hetero", Sampling::kPoisson), 6u);
}

TEST(ConversionTest, UniformEpsilonByTheorem9MatchesEveryIndependentValue) {
  EXPECT_EQ(CheckEpsilonRows("wor_gaussian_thm9", Sampling::kUniform), 144u);
}

TEST(ConversionTest, UniformEpsilonIsNeverAboveThatOfTheorem9AtTheSameOrders) {
  for (const AccountantRow& row : ReadAccountantRows("wor_gaussian_thm9")) {
    if (row.quantity != "epsilon") continue;
    SCOPED_TRACE(row.id);
    const Conversion conversion =
        row.conversion == "classic" ? Conversion::kClassic : Conversion::kImproved;
    const std::vector<GaussianRounds> rounds = RoundsOf(row, Sampling::kUniform);
    const std::vector<double> orders = ParseOrders(row.orders_set);
    EXPECT_LE(EpsilonAtOrders(rounds, row.delta, orders, conversion).unclipped,
              row.value + 1e-9 * std::abs(row.value));
  }
}

TEST(ConversionTest, PoissonEpsilonIsNeverBelowTheOptimisticPrivacyLossDistribution) {
  size_t checked = 0;
  for (const AccountantRow& row : ReadAccountantRows("poisson_gaussian")) {
    if (row.conversion != "pld_optimistic_lower_bound") continue;
    SCOPED_TRACE(row.id);
    EXPECT_GE(Epsilon(RoundsOf(row, Sampling::kPoisson), row.delta).Guarantee(), row.value);
    ++checked;
  }
  EXPECT_EQ(checked, 41u);
}

TEST(ConversionTest, UnsampledEpsilonIsNeverBelowTheExactGaussian) {
  size_t checked = 0;
  for (const AccountantRow& row : ReadAccountantRows("gaussian_exact")) {
    SCOPED_TRACE(row.id);
    EXPECT_GE(Epsilon(RoundsOf(row, Sampling::kNone), row.delta).Guarantee(), row.value);
    ++checked;
  }
  EXPECT_EQ(checked, 3u);
}

TEST(ConversionTest, ContinuousSearchIsNeverWorseThanAFineGridOfOrders) {
  std::vector<double> grid;
  for (int i = -300; i < 233; ++i) grid.push_back(1 + std::exp(0.03 * i));
  for (const Sampling sampling : {Sampling::kNone, Sampling::kUniform, Sampling::kPoisson}) {
    for (const double z : {0.5, 1.0, 8.0}) {
      for (const double q : {1e-4, 0.05, 0.6}) {
        const std::vector<GaussianRounds> rounds = {{sampling, z, q, 100}};
        const double best = EpsilonAtOrders(rounds, 1e-6, grid).unclipped;
        EXPECT_LE(Epsilon(rounds, 1e-6).unclipped, best * (1 + 1e-9))
            << Name(sampling) << " z " << z << " q " << q;
      }
    }
  }
}

TEST(ConversionTest, ImprovedConversionIsNeverAboveTheClassicOne) {
  for (const double z : {0.5, 1.0, 5.0}) {
    for (const double delta : {1e-10, 1e-5, 0.2}) {
      const std::vector<GaussianRounds> rounds = {{Sampling::kPoisson, z, 0.05, 200}};
      EXPECT_LE(Epsilon(rounds, delta).unclipped,
                Epsilon(rounds, delta, Conversion::kClassic).unclipped);
    }
  }
}

TEST(ConversionTest, EpsilonNeverFallsWhenRoundsAreAdded) {
  for (const Sampling sampling : {Sampling::kNone, Sampling::kUniform, Sampling::kPoisson}) {
    double last = 0;
    for (const int64_t rounds : {0, 1, 2, 3, 10, 11, 100, 5000, 1000000}) {
      const double epsilon = Epsilon({{sampling, 1.2, 0.02, rounds}}, 1e-5).Guarantee();
      EXPECT_GE(epsilon, last) << Name(sampling) << " " << rounds;
      last = epsilon;
    }
  }
}

TEST(ConversionTest, EpsilonFallsWithNoiseAndDeltaAndRisesWithTheRate) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    const auto epsilon = [&](double z, double q, double delta) {
      return Epsilon({{sampling, z, q, 50}}, delta).Guarantee();
    };
    for (const double z : {0.4, 0.9, 2.0, 9.0}) {
      for (const double q : {1e-3, 0.03, 0.5}) {
        for (const double delta : {1e-9, 1e-5, 1e-2}) {
          EXPECT_GE(epsilon(z, q, delta), epsilon(z * 1.05, q, delta));
          EXPECT_GE(epsilon(z, q, delta), epsilon(z, q, delta * 1.5));
          EXPECT_LE(epsilon(z, q, delta), epsilon(z, q * 1.05, delta) * (1 + 1e-12));
        }
      }
    }
  }
}

TEST(ConversionTest, NeitherOrderNorGroupingOfRoundsChangesABit) {
  std::vector<GaussianRounds> rounds = {{Sampling::kPoisson, 1.0, 0.02, 7},
                                        {Sampling::kNone, 20.0, 1.0, 1},
                                        {Sampling::kPoisson, 2.0, 0.02, 3},
                                        {Sampling::kPoisson, 1.0, 0.01, 5}};
  const ConvertedEpsilon together = Epsilon(rounds, 1e-5);
  std::reverse(rounds.begin(), rounds.end());
  rounds.back().rounds = 3;
  rounds.insert(rounds.begin(), {Sampling::kPoisson, 1.0, 0.02, 4});
  const ConvertedEpsilon apart = Epsilon(rounds, 1e-5);
  EXPECT_EQ(together.unclipped, apart.unclipped);
  EXPECT_EQ(together.order, apart.order);
}

TEST(ConversionTest, AGuaranteeIsNeverNegative) {
  const ConvertedEpsilon converted = Epsilon({{Sampling::kPoisson, 50.0, 1e-4, 1}}, 0.1);
  EXPECT_LT(converted.unclipped, 0);
  EXPECT_EQ(converted.Guarantee(), 0);
}

TEST(ConversionTest, NoNoiseGivesInfinityNotNan) {
  EXPECT_EQ(Epsilon({{Sampling::kPoisson, 0.0, 0.1, 1}}, 1e-5).Guarantee(), kInf);
  EXPECT_LT(Epsilon({{Sampling::kPoisson, 0.0, 0.1, 0}}, 1e-5).Guarantee(), kInf);
}

TEST(ConversionTest, AnOptimumAtTheEdgeOfTheOrdersIsReported) {
  const std::vector<GaussianRounds> rounds = {{Sampling::kNone, 5.0, 1.0, 10}};
  EXPECT_FALSE(Epsilon(rounds, 1e-5).order_at_edge);
  EXPECT_TRUE(EpsilonAtOrders(rounds, 1e-5, {2, 3, 4}).order_at_edge);
  EXPECT_FALSE(EpsilonAtOrders(rounds, 1e-5, {2, 8, 300}).order_at_edge);
  EXPECT_TRUE(Epsilon({{Sampling::kNone, 1e6, 1.0, 1}}, 1e-9).order_at_edge);
}

TEST(ConversionTest, BadArgumentsThrow) {
  const std::vector<GaussianRounds> good = {{Sampling::kPoisson, 1.0, 0.1, 1}};
  for (const double delta : {0.0, 1.0, 1.5, -0.1, std::nan("")}) {
    EXPECT_THROW(Epsilon(good, delta), std::invalid_argument);
    EXPECT_THROW(EpsilonAtOrders(good, delta, {2.0}), std::invalid_argument);
  }
  EXPECT_THROW(EpsilonAtOrders(good, 1e-5, {}), std::invalid_argument);
  EXPECT_THROW(EpsilonAtOrders(good, 1e-5, {1.0}), std::invalid_argument);
  for (const GaussianRounds& bad : {GaussianRounds{Sampling::kPoisson, -1.0, 0.1, 1},
                                    GaussianRounds{Sampling::kPoisson, std::nan(""), 0.1, 1},
                                    GaussianRounds{Sampling::kPoisson, 1.0, 1.1, 1},
                                    GaussianRounds{Sampling::kPoisson, 1.0, 0.1, -1}}) {
    EXPECT_THROW(Epsilon({bad}, 1e-5), std::invalid_argument);
    EXPECT_THROW(ComposedRdp({bad}, 2.0), std::invalid_argument);
  }
}

}  // namespace
}  // namespace sotto::privacy
