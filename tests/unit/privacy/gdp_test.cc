// Gaussian differential privacy, against independent values.
#include "accounting/gdp.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>
#include <string>

#include "accounting/log_space.h"
#include "unit/privacy/accountant_csv.h"

namespace sotto::privacy {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

void ExpectRelative(double got, double expected, double tolerance, const std::string& id) {
  EXPECT_NEAR(got, expected, tolerance * std::abs(expected)) << id;
}

TEST(GdpTest, AgreesWithTheReferenceToTwelveDigits) {
  int rows = 0;
  for (const AccountantRow& row : ReadAccountantRows("gdp_mu")) {
    ++rows;
    const double mu = row.noise_multipliers.at(0);
    if (row.quantity == "epsilon") {
      ExpectRelative(GdpEpsilon(mu, row.delta), row.value, 1e-12, row.id);
    } else {
      ExpectRelative(GdpDelta(mu, row.rates.at(0)), row.value, 1e-12, row.id);
    }
  }
  EXPECT_EQ(rows, 23);
}

TEST(GdpTest, UnsampledRoundsComposeExactly) {
  int rows = 0;
  for (const AccountantRow& row : ReadAccountantRows("gaussian_exact")) {
    ++rows;
    const GaussianRounds rounds = {Sampling::kNone, row.noise_multipliers.at(0), 1.0,
                                   std::lround(row.rounds.at(0))};
    ExpectRelative(GdpEpsilon(UnsampledMu({rounds}), row.delta), row.value, 1e-12, row.id);
  }
  EXPECT_EQ(rows, 3);
}

TEST(GdpTest, TheCentralLimitAgreesWithTheReferenceAndIsNotTheExactValue) {
  int rows = 0;
  for (const AccountantRow& row : ReadAccountantRows("gdp_clt_uniform")) {
    ++rows;
    const GaussianRounds rounds = {Sampling::kUniform, row.noise_multipliers.at(0), row.rates.at(0),
                                   std::lround(row.rounds.at(0))};
    const double mu = CentralLimitMu({rounds}).value;
    ExpectRelative(row.quantity == "mu" ? mu : GdpEpsilon(mu, row.delta), row.value, 1e-12, row.id);
    EXPECT_LT(mu, UnsampledMu({rounds}));
  }
  EXPECT_EQ(rows, 12);
}

TEST(GdpTest, TheCentralLimitOfPoissonSamplingIsItsFormula) {
  const double mu = CentralLimitMu({{Sampling::kPoisson, 1.25, 0.03, 400}}).value;
  EXPECT_NEAR(mu, 0.03 * 20 * std::sqrt(std::exp(0.64) - 1), 1e-14);
  EXPECT_EQ(CentralLimitMu({{Sampling::kPoisson, 0.0, 0.0, 5}}).value, 0);
  EXPECT_NEAR(CentralLimitMu({{Sampling::kNone, 2, 1, 16}}).value, 2, 1e-15);
}

// Phi(-a) - e^epsilon Phi(-b) in long double, where it neither cancels much nor underflows.
double DirectDelta(double mu, double epsilon) {
  const long double m = mu;
  const long double e = epsilon;
  const long double root_half = std::sqrt(0.5L);
  return static_cast<double>((std::erfc((e / m - m / 2) * root_half) -
                              std::exp(e) * std::erfc((e / m + m / 2) * root_half)) /
                             2);
}

TEST(GdpTest, DeltaIsTheDefinitionOnEitherSideOfEverySwitchOfFormula) {
  for (const double mu : {0.02, 0.0499, 0.0501, 0.1, 0.5, 1.0, 1.5, 2.0, 2.5, 6.0}) {
    for (const double a : {-0.9, -0.2, 0.0, 0.5, 0.999, 1.001, 2.0, 3.0}) {
      const double epsilon = mu * (a + mu / 2);
      if (epsilon < 0) continue;
      ExpectRelative(GdpDelta(mu, epsilon), DirectDelta(mu, epsilon), 1e-13,
                     std::to_string(mu) + " " + std::to_string(a));
    }
  }
}

TEST(GdpTest, TheInverseIsInverseDownToDeltaOf1eMinus300) {
  for (const double mu : {1e-3, 0.02, 0.5, 3.0, 50.0}) {
    for (const double delta : {1e-300, 1e-100, 1e-12, 1e-5, 0.3, 0.9}) {
      const double epsilon = GdpEpsilon(mu, delta);
      EXPECT_LE(LogGdpDelta(mu, epsilon), std::log(delta));
      if (epsilon == 0) continue;
      ExpectRelative(LogGdpDelta(mu, epsilon), std::log(delta), 1e-9, "delta");
    }
  }
}

TEST(GdpTest, RoundingIsAlwaysToTheSafeSide) {
  for (const double mu : {0.01, 0.3, 1.0, 4.0, 30.0}) {
    for (const double delta : {1e-200, 1e-9, 1e-3}) {
      const double epsilon = GdpEpsilon(mu, delta);
      EXPECT_LE(LogGdpDelta(mu, epsilon), std::log(delta));
    }
  }
}

TEST(GdpTest, DeltaFallsWithEpsilonAndRisesWithMu) {
  for (double mu = 0.001; mu < 60; mu *= 1.3) {
    for (double epsilon = 0.001; epsilon < 1000; epsilon *= 1.7) {
      const double log_delta = LogGdpDelta(mu, epsilon);
      EXPECT_GE(log_delta, LogGdpDelta(mu, epsilon * 1.01));
      EXPECT_LE(log_delta, LogGdpDelta(mu * 1.01, epsilon));
      EXPECT_LE(log_delta, 0);
    }
  }
}

TEST(GdpTest, TheEndsOfTheRangesAreNumbers) {
  EXPECT_EQ(GdpDelta(0, 1), 0);
  EXPECT_EQ(GdpDelta(0, 0), 0);
  EXPECT_EQ(GdpDelta(kInfinity, 1), 1);
  EXPECT_EQ(GdpEpsilon(0, 1e-5), 0);
  EXPECT_EQ(GdpEpsilon(kInfinity, 1e-5), kInfinity);
  EXPECT_EQ(GdpEpsilon(1e200, 1e-5), kInfinity);
  EXPECT_EQ(GdpDelta(1e-200, 1), 0);
  EXPECT_EQ(UnsampledMu({}), 0);
  EXPECT_EQ(UnsampledMu({{Sampling::kNone, 0, 1, 1}}), kInfinity);
  EXPECT_EQ(UnsampledMu({{Sampling::kNone, 0, 1, 0}}), 0);
}

TEST(GdpTest, BadArgumentsThrow) {
  for (const double bad : {-1.0, kNan}) {
    EXPECT_THROW(GdpDelta(bad, 1), std::invalid_argument);
    EXPECT_THROW(GdpDelta(1, bad), std::invalid_argument);
    EXPECT_THROW(GdpEpsilon(bad, 0.1), std::invalid_argument);
    EXPECT_THROW(UnsampledMu({{Sampling::kNone, bad, 1, 1}}), std::invalid_argument);
    EXPECT_THROW(CentralLimitMu({{Sampling::kPoisson, 1, bad, 1}}), std::invalid_argument);
  }
  for (const double delta : {0.0, 1.0, kNan}) {
    EXPECT_THROW(GdpEpsilon(1, delta), std::invalid_argument);
  }
  EXPECT_THROW(UnsampledMu({{Sampling::kNone, 1, 1, -1}}), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
