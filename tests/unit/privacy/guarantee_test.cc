#include "privacy/guarantee.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

namespace sotto::privacy {
namespace {

const std::vector<GaussianRounds> kRounds = {{Sampling::kPoisson, 0.9, 0.05, 30}};
constexpr double kDelta = 1e-5;

Deviations MakeDeviations(double eta, double tau, double coordinates,
                          double log_cap_excess = -kInfinity) {
  Deviations deviations;
  deviations.certificate = {eta, tau};
  deviations.coordinates = coordinates;
  deviations.log_cap_excess = log_cap_excess;
  return deviations;
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
  const Guarantee guarantee = StateGuarantee(kRounds, kDelta, Deviations{});
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
          const Guarantee guarantee = StateGuarantee(kRounds, kDelta, deviations);
          if (std::isinf(guarantee.epsilon)) continue;
          SCOPED_TRACE(testing::Message()
                       << "eta " << eta << " tau " << tau << " cap " << log_cap << " n " << n);
          ExpectCovered(kRounds, kDelta, deviations, guarantee);
        }
      }
    }
  }
}

TEST(GuaranteeTest, TermsLargerThanTheirShareAreTakenFromTheRestOfDelta) {
  const double epsilon = Epsilon(kRounds, kDelta).Guarantee();
  const double log_half = std::log(kDelta / 2) - std::log1p(std::exp(epsilon * 1.1));
  const Deviations by_cap = MakeDeviations(0, 0, 0, log_half);
  const Deviations by_tau = MakeDeviations(1e-9, std::exp(log_half) / 1e6, 1e6);
  for (const Deviations& deviations : {by_cap, by_tau}) {
    const Guarantee guarantee = StateGuarantee(kRounds, kDelta, deviations);
    ExpectCovered(kRounds, kDelta, deviations, guarantee);
    EXPECT_LT(guarantee.gaussian_delta, kDelta * (1 - 2 * kDeltaShare));
  }
}

TEST(GuaranteeTest, ALargeRatioTermIsStatedNotRefused) {
  const Deviations deviations = MakeDeviations(1e-3, 0, 1e8);  // rho1 = 50
  const Guarantee guarantee = StateGuarantee(kRounds, kDelta, deviations);
  EXPECT_GT(guarantee.encoder_epsilon, 50);
  ExpectCovered(kRounds, kDelta, deviations, guarantee);
}

TEST(GuaranteeTest, DeviationsNeverLowerEpsilonAndGrowingOnesNeverLowerItEither) {
  double last = Epsilon(kRounds, kDelta).Guarantee();
  for (const double scale : {1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0}) {
    const double epsilon =
        StateGuarantee(kRounds, kDelta, MakeDeviations(1e-8 * scale, 1e-19 * scale, 1e7)).epsilon;
    EXPECT_GT(epsilon, last);
    last = epsilon;
  }
}

TEST(GuaranteeTest, WhatCannotFitDeltaIsInfinite) {
  EXPECT_EQ(StateGuarantee(kRounds, kDelta, MakeDeviations(0, 1e-10, 1e7)).epsilon, kInfinity);
  EXPECT_EQ(StateGuarantee(kRounds, kDelta, MakeDeviations(1e-8, 1e-10, 1e7)).epsilon, kInfinity);
  EXPECT_EQ(StateGuarantee(kRounds, kDelta, MakeDeviations(0, 0, 0, 0.0)).epsilon, kInfinity);
  EXPECT_EQ(StateGuarantee(kRounds, kDelta, MakeDeviations(10, 0, 1e9)).epsilon, kInfinity);
  // An epsilon beyond what e^epsilon can hold, and no noise at all.
  const std::vector<GaussianRounds> loud = {{Sampling::kNone, 0.01, 1.0, 1000}};
  EXPECT_EQ(StateGuarantee(loud, kDelta, MakeDeviations(0, 1e-28, 1)).epsilon, kInfinity);
  const std::vector<GaussianRounds> bare = {{Sampling::kNone, 0.0, 1.0, 1}};
  EXPECT_EQ(StateGuarantee(bare, kDelta, MakeDeviations(1e-8, 1e-28, 1)).epsilon, kInfinity);
}

TEST(GuaranteeTest, AHugeEpsilonWithoutTailMassStaysFinite) {
  const std::vector<GaussianRounds> loud = {{Sampling::kNone, 0.02, 1.0, 10}};
  const Guarantee guarantee = StateGuarantee(loud, kDelta, MakeDeviations(1e-9, 0, 1e6));
  EXPECT_TRUE(std::isfinite(guarantee.epsilon));
  EXPECT_GT(guarantee.epsilon, 12500);
}

TEST(GuaranteeTest, BadArgumentsThrow) {
  EXPECT_THROW(StateGuarantee(kRounds, 0, Deviations{}), std::invalid_argument);
  EXPECT_THROW(StateGuarantee(kRounds, 1, Deviations{}), std::invalid_argument);
  for (const Deviations& bad :
       {MakeDeviations(-1e-9, 0, 1), MakeDeviations(std::nan(""), 0, 1), MakeDeviations(0, -1, 1),
        MakeDeviations(0, 2, 1), MakeDeviations(0, 0, -1), MakeDeviations(0, 0, kInfinity),
        MakeDeviations(0, 0, 0, std::nan(""))}) {
    EXPECT_THROW(StateGuarantee(kRounds, kDelta, bad), std::invalid_argument);
  }
}

}  // namespace
}  // namespace sotto::privacy
