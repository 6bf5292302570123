// The guarantee of real releases: the price of the certificate and the cap.
#include "accounting/guarantee.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "accounting/pld.h"

namespace sotto::privacy {
namespace {

const std::vector<GaussianRounds> kRounds = {{Sampling::kPoisson, 0.9, 0.05, 30}};
constexpr double kDelta = 1e-5;

Deviations MakeDeviations(double eta, double tau, double coordinates,
                          double log_cap_excess = -kInfinity) {
  Deviations deviations;
  deviations.certificate = {eta, tau, 0};
  deviations.coordinates = coordinates;
  deviations.log_cap_excess = log_cap_excess;
  return deviations;
}

// The price of the deviations is the same for every accountant: the tests look at it by RDP, whose
// epsilon at a delta is one call.
Guarantee ByRdp(const std::vector<GaussianRounds>& rounds, double delta,
                const Deviations& deviations) {
  return StateGuarantee(rounds, delta, deviations, Accountant("rdp"));
}

// ln(1 + e^x), where e^x may not fit a double.
double LogOnePlusExp(double x) { return x > 40 ? x : std::log1p(std::exp(x)); }

// The published inequality, worked out anew from e0, e1 and d0: e1 tells which delta_q was used.
void ExpectCovered(const std::vector<GaussianRounds>& rounds, double delta,
                   const Deviations& deviations, const Guarantee& guarantee) {
  ASSERT_TRUE(std::isfinite(guarantee.epsilon));
  const double e0 = Epsilon(rounds, guarantee.gaussian_delta).Guarantee();
  const double e1 = guarantee.encoder_epsilon;
  EXPECT_EQ(guarantee.epsilon, e0 + 2 * e1);
  const double rho1 = deviations.coordinates * std::pow(deviations.certificate.eta, 2) / 2;
  const double log_delta_q = rho1 > 0 ? -std::pow((e1 - rho1) / 2, 2) / rho1 : -kInfinity;
  const double log_n_tau = std::log(deviations.coordinates * deviations.certificate.tau);
  const auto share = [&](double log_term) { return std::exp(log_term - std::log(delta)); };
  const double published = share(e1 + std::log(guarantee.gaussian_delta)) +
                           share(LogOnePlusExp(e0 + e1) + log_delta_q) +
                           share(LogOnePlusExp(e0 + e1) + log_n_tau) +
                           share(LogOnePlusExp(e0 + 2 * e1) + deviations.log_cap_excess);
  EXPECT_LE(published, 1 + 1e-10);
  EXPECT_GT(published, 0.98);  // and little of delta is wasted
}

TEST(GuaranteeTest, WithoutDeviationsItIsTheAccountantWithTheWholeDelta) {
  const Guarantee guarantee = ByRdp(kRounds, kDelta, Deviations{});
  EXPECT_EQ(guarantee.epsilon, Epsilon(kRounds, kDelta).Guarantee());
  EXPECT_EQ(guarantee.gaussian_delta, kDelta);
  EXPECT_EQ(guarantee.encoder_epsilon, 0);
  EXPECT_EQ(guarantee.log_encoder_delta, -kInfinity);
}

TEST(GuaranteeTest, PublishedDeltaCoversEveryTerm) {
  for (const double eta : {0.0, 1e-10, 1e-8, 1e-5, 1e-3}) {
    for (const double tau : {0.0, 1e-25, 1e-17}) {
      for (const double log_cap : {-kInfinity, -40.0, -23.0}) {
        for (const double n : {1.0, 1e6, 1e8}) {
          const Deviations deviations = MakeDeviations(eta, tau, n, log_cap);
          const Guarantee guarantee = ByRdp(kRounds, kDelta, deviations);
          if (std::isinf(guarantee.epsilon)) continue;
          SCOPED_TRACE(testing::Message()
                       << "eta " << eta << " tau " << tau << " cap " << log_cap << " n " << n);
          ExpectCovered(kRounds, kDelta, deviations, guarantee);
        }
      }
    }
  }
}

// Either way to charge for the encoder; kGoodEvent needs a certificate with a range.
TEST(GuaranteeTest, RefusalsAreChargedToDelta) {
  Deviations encoder = MakeDeviations(6e-9, 3.1e-22, 1e6);
  for (const double range : {0.0, 9.7}) {
    encoder.certificate.range = range;
    encoder.shift = range == 0 ? kInfinity : 0.01;
    for (const double z : {0.9, 0.05}) {
      const std::vector<GaussianRounds> rounds = {{Sampling::kNone, z, 1.0, 1}};
      const Guarantee without = ByRdp(rounds, kDelta, encoder);
      ASSERT_TRUE(std::isfinite(without.epsilon) || z < 0.1);
      if (!std::isfinite(without.epsilon)) continue;
      double last = without.epsilon;
      for (const double bits : {60.0, 50.0, 40.0, 35.0}) {
        Deviations refusing = encoder;
        refusing.log_refusal = -bits * std::log(2.0);
        const Guarantee guarantee = ByRdp(rounds, kDelta, refusing);
        EXPECT_GE(guarantee.epsilon, last);
        EXPECT_LT(guarantee.epsilon, without.epsilon * 1.01 + 0.01);
        last = guarantee.epsilon;
      }
      Deviations refusing = encoder;
      refusing.log_refusal = std::log(kDelta);
      EXPECT_EQ(ByRdp(rounds, kDelta, refusing).epsilon, kInfinity) << "more than all of delta";
    }
  }
}

// Exact figures by mpmath: epsilon at 0.99 delta; then the least one with delta(epsilon) +
// (1 + e^epsilon) p <= delta.
TEST(GuaranteeTest, UpdatesThatAreTooLongAreChargedToDelta) {
  const std::vector<GaussianRounds> rounds = {{Sampling::kNone, 1 / 1.3, 1.0, 1}};
  const auto epsilon = [&](double p) {
    Deviations deviations;
    deviations.log_too_long = std::log(p);
    return StateGuarantee(rounds, kDelta, deviations).epsilon;
  };
  EXPECT_NEAR(epsilon(1e-12), 5.951485116621, 1e-6);
  EXPECT_NEAR(epsilon(1e-10), 5.951485116621, 1e-6);
  EXPECT_NEAR(epsilon(1e-9), 5.960381642910, 1e-6);
  EXPECT_NEAR(epsilon(5e-9), 6.017387645778, 1e-6);
  EXPECT_NEAR(epsilon(1e-8), 6.131805617168, 1e-5);
  EXPECT_EQ(epsilon(3e-8), kInfinity) << "no epsilon covers it";
  Deviations all = MakeDeviations(6e-9, 3.1e-22, 1e6);
  const double without = StateGuarantee(rounds, kDelta, all).epsilon;
  all.log_too_long = std::log(1e-12);
  EXPECT_GT(StateGuarantee(rounds, kDelta, all).epsilon, without);
  EXPECT_NEAR(AttackerRight(1.3, all), AttackerRight(1.3, MakeDeviations(6e-9, 3.1e-22, 1e6)),
              2e-12);
}

TEST(GuaranteeTest, TermsLargerThanTheirShareAreTakenFromTheRestOfDelta) {
  const double epsilon = Epsilon(kRounds, kDelta).Guarantee();
  const double log_half = std::log(kDelta / 2) - std::log1p(std::exp(epsilon * 1.1));
  const Deviations by_cap = MakeDeviations(0, 0, 0, log_half);
  const Deviations by_tau = MakeDeviations(1e-9, std::exp(log_half) / 1e6, 1e6);
  for (const Deviations& deviations : {by_cap, by_tau}) {
    const Guarantee guarantee = ByRdp(kRounds, kDelta, deviations);
    ExpectCovered(kRounds, kDelta, deviations, guarantee);
    EXPECT_LT(guarantee.gaussian_delta, kDelta * (1 - 2 * kDeltaShare));
  }
}

TEST(GuaranteeTest, ALargeRatioTermIsStatedNotRefused) {
  const Deviations deviations = MakeDeviations(1e-3, 0, 1e8);  // rho1 = 50
  const Guarantee guarantee = ByRdp(kRounds, kDelta, deviations);
  EXPECT_GT(guarantee.encoder_epsilon, 50);
  ExpectCovered(kRounds, kDelta, deviations, guarantee);
}

TEST(GuaranteeTest, DeviationsNeverLowerEpsilonAndGrowingOnesNeverLowerItEither) {
  double last = Epsilon(kRounds, kDelta).Guarantee();
  for (const double scale : {1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0}) {
    const double epsilon =
        ByRdp(kRounds, kDelta, MakeDeviations(1e-8 * scale, 1e-19 * scale, 1e7)).epsilon;
    EXPECT_GT(epsilon, last);
    last = epsilon;
  }
}

TEST(GuaranteeTest, WhatCannotFitDeltaIsInfinite) {
  EXPECT_EQ(ByRdp(kRounds, kDelta, MakeDeviations(0, 1e-10, 1e7)).epsilon, kInfinity);
  EXPECT_EQ(ByRdp(kRounds, kDelta, MakeDeviations(1e-8, 1e-10, 1e7)).epsilon, kInfinity);
  EXPECT_EQ(ByRdp(kRounds, kDelta, MakeDeviations(0, 0, 0, 0.0)).epsilon, kInfinity);
  EXPECT_EQ(ByRdp(kRounds, kDelta, MakeDeviations(10, 0, 1e9)).epsilon, kInfinity);
  // An epsilon beyond what e^epsilon can hold, and no noise at all.
  const std::vector<GaussianRounds> loud = {{Sampling::kNone, 0.01, 1.0, 1000}};
  EXPECT_EQ(ByRdp(loud, kDelta, MakeDeviations(0, 1e-28, 1)).epsilon, kInfinity);
  const std::vector<GaussianRounds> bare = {{Sampling::kNone, 0.0, 1.0, 1}};
  EXPECT_EQ(ByRdp(bare, kDelta, MakeDeviations(1e-8, 1e-28, 1)).epsilon, kInfinity);
}

TEST(GuaranteeTest, AHugeEpsilonWithoutTailMassStaysFinite) {
  const std::vector<GaussianRounds> loud = {{Sampling::kNone, 0.02, 1.0, 10}};
  const Guarantee guarantee = ByRdp(loud, kDelta, MakeDeviations(1e-9, 0, 1e6));
  EXPECT_TRUE(std::isfinite(guarantee.epsilon));
  EXPECT_GT(guarantee.epsilon, 12500);
}

// Twenty rounds of three devices of 1,000 coordinates and twice the sensitivity's worth of noise in
// the sum: epsilon in the hundreds if the multiplier is 0.3.
Deviations SmallFleet(double eta, double tau, double log_cap_excess = -kInfinity) {
  Deviations deviations = MakeDeviations(eta, tau, 60'000, log_cap_excess);
  deviations.certificate.range = 9.7;
  deviations.shift = 1.9;
  return deviations;
}

const std::vector<GaussianRounds> kLoudRounds = {{Sampling::kUniform, 0.3, 1.0, 20}};

// The inequality on the good event, worked out anew. The shares' squared norm goes into the
// multiplier.
void ExpectGoodEventCovered(double squared_norm, double delta, const Deviations& deviations,
                            const Guarantee& guarantee) {
  ASSERT_EQ(guarantee.terms, EncoderTerms::kGoodEvent);
  const double n = deviations.coordinates;
  const auto [eta, tau, range] = deviations.certificate;
  const double rounding = n / 4 * std::pow(2.0, -40);
  const double e0 = Epsilon({{Sampling::kNone, 1 / std::sqrt(squared_norm + rounding), 1.0, 1}},
                            guarantee.gaussian_delta)
                        .Guarantee();
  const double e1 = guarantee.encoder_epsilon;
  EXPECT_NEAR(guarantee.epsilon, e0 + 2 * e1, 1e-9 * guarantee.epsilon);
  EXPECT_LE(e1, n * eta);
  const double inner = range - deviations.shift - 2 * std::pow(2.0, -20);
  const double outside = n * (tau + std::exp(eta) * std::erfc(inner / std::sqrt(2)));
  const double d1 = std::exp(guarantee.log_encoder_delta);
  const double published =
      std::exp(e1) * guarantee.gaussian_delta + d1 + std::exp(deviations.log_cap_excess);
  EXPECT_LE(published, delta * (1 + 1e-10));
  EXPECT_GT(published, delta * (1 - 1e-10));  // nothing of delta is wasted
  EXPECT_GE(d1, outside * (1 - 1e-12));
  if (e1 >= n * eta * (1 - 1e-12)) return;
  const double rho = n * eta * eta / 2;
  const double t = std::max(tau, std::erfc((range - std::pow(2.0, -20)) / std::sqrt(2)));
  const double root = (e1 - rho + n * std::log1p(-t)) / 2;
  EXPECT_LE(Softplus(e0 + e1) - root * root / rho, std::log(d1 - outside));
}

TEST(GuaranteeTest, GoodEventPublishedDeltaCoversEveryTerm) {
  const double squared_norm = 20 / (0.3 * 0.3);
  for (const double eta : {0.0, 1e-10, 1e-8, 1e-5}) {
    for (const double tau : {3e-22, 1e-17, 1e-11}) {
      for (const double log_cap : {-kInfinity, -40.0, -13.0}) {
        SCOPED_TRACE(testing::Message() << "eta " << eta << " tau " << tau << " cap " << log_cap);
        const Deviations deviations = SmallFleet(eta, tau, log_cap);
        const Guarantee guarantee = ByRdp(kLoudRounds, kDelta, deviations);
        ExpectGoodEventCovered(squared_norm, kDelta, deviations, guarantee);
        EXPECT_GT(guarantee.epsilon, 100);
        EXPECT_GT(guarantee.epsilon, Epsilon(kLoudRounds, kDelta).Guarantee());
      }
    }
  }
}

// 16 million parameters, 50 reports, 30 rounds: the worst case of all ratios would be 144 each way.
TEST(GuaranteeTest, RatiosOfLargeNetsConcentrateWhateverTheEpsilon) {
  Deviations large = MakeDeviations(6e-9, 3e-22, 16e6 * 50 * 30);
  large.certificate.range = 9.7;
  large.shift = 0.3;
  for (const double delta : {1e-5, 1e-7}) {
    for (const double z : {0.3, 0.57, 3.0}) {
      const std::vector<GaussianRounds> rounds = {{Sampling::kNone, z, 1.0, 30}};
      const double ideal = AccountFor(rounds, delta).epsilon;
      const Guarantee guarantee = StateGuarantee(rounds, delta, large);
      const bool either_wins = ideal < 50;
      EXPECT_TRUE(either_wins || guarantee.terms == EncoderTerms::kGoodEvent);
      EXPECT_GT(guarantee.epsilon, ideal);
      EXPECT_LT(guarantee.epsilon, ideal + 0.15);
    }
  }
}

TEST(GuaranteeTest, TheTailGoodForALargeEpsilonCostsItAlmostNothing) {
  const Guarantee guarantee = ByRdp(kLoudRounds, kDelta, SmallFleet(1e-8, 3e-22));
  EXPECT_LT(guarantee.epsilon, 1.001 * Epsilon(kLoudRounds, kDelta).Guarantee());
}

TEST(GuaranteeTest, TheSmallerOfTheTwoBoundsIsStated) {
  Deviations deviations = SmallFleet(1e-6, 3e-22);
  const Guarantee both = ByRdp(kRounds, kDelta, deviations);
  deviations.shift = kInfinity;
  const Guarantee concentrated = ByRdp(kRounds, kDelta, deviations);
  EXPECT_EQ(both.terms, EncoderTerms::kConcentrated);
  EXPECT_EQ(both.epsilon, concentrated.epsilon);
  EXPECT_EQ(ByRdp(kLoudRounds, kDelta, deviations).epsilon, kInfinity);
}

TEST(GuaranteeTest, GoodEventEpsilonNeverFallsWithItsTerms) {
  const auto epsilon_of = [](const Deviations& deviations) {
    return ByRdp(kLoudRounds, kDelta, deviations).epsilon;
  };
  const double before = epsilon_of(SmallFleet(1e-8, 3e-22));
  Deviations more = SmallFleet(1e-8, 3e-22);
  more.shift = 4;
  EXPECT_GT(epsilon_of(more), before);
  more = SmallFleet(1e-8, 3e-22);
  more.certificate.range = 7;
  EXPECT_GT(epsilon_of(more), before);
  more = SmallFleet(1e-8, 3e-22);
  more.coordinates *= 2;
  EXPECT_GT(epsilon_of(more), before);
  EXPECT_GT(epsilon_of(SmallFleet(2e-8, 3e-22)), before);
  EXPECT_GT(epsilon_of(SmallFleet(1e-8, 1e-12)), before);
}

TEST(GuaranteeTest, GoodEventIsUnavailableWhereAShareLeavesTheCertificate) {
  Deviations deviations = SmallFleet(1e-8, 1e-30);
  for (const double shift : {9.7 - 1e-6, 9.7, 20.0, kInfinity}) {
    deviations.shift = shift;
    EXPECT_EQ(ByRdp(kLoudRounds, kDelta, deviations).epsilon, kInfinity);
  }
  deviations = SmallFleet(1e-8, 1e-9);  // n tau is above delta
  EXPECT_EQ(ByRdp(kLoudRounds, kDelta, deviations).epsilon, kInfinity);
  deviations = SmallFleet(1.0, 1e-30);  // e^(n eta) does not fit a double
  EXPECT_EQ(ByRdp(kLoudRounds, kDelta, deviations).epsilon, kInfinity);
}

TEST(GuaranteeTest, TheBestAccountantsGuaranteeIsSmallerAndPaysForTheSameTerms) {
  const std::vector<std::vector<GaussianRounds>> plans = {
      kRounds, {{Sampling::kUniform, 0.9, 0.05, 30}}, {{Sampling::kNone, 4.0, 1.0, 30}}};
  for (const auto& rounds : plans) {
    for (const Deviations& deviations : {Deviations{}, MakeDeviations(1e-8, 1e-19, 1e7, -40)}) {
      const Guarantee best = StateGuarantee(rounds, kDelta, deviations);
      EXPECT_LT(best.epsilon, ByRdp(rounds, kDelta, deviations).epsilon);
      EXPECT_EQ(best.epsilon, best.gaussian.epsilon + 2 * best.encoder_epsilon);
      const double e0 = best.gaussian.epsilon;
      const double e1 = best.encoder_epsilon;
      EXPECT_LE(std::exp(e1) * best.gaussian_delta +
                    (1 + std::exp(e0 + e1)) * std::exp(best.log_encoder_delta) +
                    (1 + std::exp(best.epsilon)) * std::exp(deviations.log_cap_excess),
                kDelta * (1 + 1e-10));
      // e0 is the accountant's at d0: no smaller than PLD's lower bound there.
      EXPECT_GE(e0, Pld(rounds, best.gaussian_delta).Epsilon(best.gaussian_delta, Bound::kLower));
    }
  }
}

TEST(GuaranteeTest, AGuaranteeNamesItsAccountantAndItsNumericError) {
  const Guarantee poisson = StateGuarantee(kRounds, kDelta, Deviations{});
  EXPECT_STREQ(poisson.gaussian.winner, "pld");
  EXPECT_GT(poisson.gaussian.numeric_error, 0);
  EXPECT_LT(poisson.gaussian.numeric_error, 0.1 * poisson.epsilon);
  EXPECT_STREQ(StateGuarantee(kLoudRounds, kDelta, SmallFleet(1e-8, 3e-22)).gaussian.winner,
               "gaussian");
  EXPECT_STREQ(ByRdp(kRounds, kDelta, Deviations{}).gaussian.winner, "rdp");
}

TEST(GuaranteeTest, AnApproximationIsNoGuarantee) {
  EXPECT_THROW(StateGuarantee(kRounds, kDelta, Deviations{}, Accountant("gdp")),
               std::invalid_argument);
}

TEST(GuaranteeTest, BadArgumentsThrow) {
  EXPECT_THROW(ByRdp(kRounds, 0, Deviations{}), std::invalid_argument);
  EXPECT_THROW(ByRdp(kRounds, 1, Deviations{}), std::invalid_argument);
  for (const Deviations& bad :
       {MakeDeviations(-1e-9, 0, 1), MakeDeviations(std::nan(""), 0, 1), MakeDeviations(0, -1, 1),
        MakeDeviations(0, 2, 1), MakeDeviations(0, 0, -1), MakeDeviations(0, 0, kInfinity),
        MakeDeviations(0, 0, 0, std::nan(""))}) {
    EXPECT_THROW(ByRdp(kRounds, kDelta, bad), std::invalid_argument);
  }
  for (const double range : {-1.0, kInfinity, std::nan("")}) {
    Deviations bad = SmallFleet(0, 0);
    bad.certificate.range = range;
    EXPECT_THROW(ByRdp(kRounds, kDelta, bad), std::invalid_argument);
  }
  for (const double shift : {-1.0, std::nan("")}) {
    Deviations bad = SmallFleet(0, 0);
    bad.shift = shift;
    EXPECT_THROW(ByRdp(kRounds, kDelta, bad), std::invalid_argument);
  }
}

}  // namespace
}  // namespace sotto::privacy
