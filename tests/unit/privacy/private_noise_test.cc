// The guarantee against the server that the devices' own noise gives.
#include "plans/private_noise.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <stdexcept>

#include "plans/adaptivity.h"
#include "plans/composition.h"
#include "plans/statement.h"
#include "unit/privacy/figures.h"

namespace sotto::privacy {
namespace {

Plan PrivatePlan(double z) {
  Plan plan;
  plan.devices = 1000;
  plan.cohort = plan.planned_reports = 50;
  plan.rounds = 30;
  plan.dimension = 7850;
  plan.clip_l2 = 0.4;
  plan.noise_sigma = 0.08;
  plan.delta = 1e-5;
  plan.private_noise_multiplier = z;
  return plan;
}

double Phi(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// The exact delta of one Gaussian mechanism (Balle and Wang, "Improving the Gaussian Mechanism for
// Differential Privacy", 2018, Theorem 8).
double ExactDelta(double z, double epsilon) {
  return Phi(1 / (2 * z) - epsilon * z) - std::exp(epsilon) * Phi(-1 / (2 * z) - epsilon * z);
}

double ExactEpsilon(double z, double delta) {
  double low = 0;
  double high = 500;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (ExactDelta(z, middle) > delta ? low : high) = middle;
  }
  return high;
}

// Above the continuous mechanism's exact value, and not by much: below the bound that follows from
// concentrated differential privacy (Bun and Steinke, 2016, Proposition 1.3).
TEST(EpsilonAgainstServer, IsATightUpperBoundOfTheGaussianMechanisms) {
  for (const double z : {0.3, 1.0, 5.0, 20.0}) {
    for (const int64_t updates : {1, 30}) {
      const double epsilon = GuaranteeAgainstServer(PrivatePlan(z), updates).epsilon;
      const double rho = static_cast<double>(updates) / (2 * z * z);
      EXPECT_LE(epsilon, rho + 2 * std::sqrt(rho * std::log(1e5))) << z;
      const double together = z / std::sqrt(static_cast<double>(updates));
      const double exact = ExactEpsilon(together, 1e-5);
      EXPECT_GE(epsilon, exact) << z;
      EXPECT_LE(epsilon, 1.2 * exact) << z;
    }
  }
}

TEST(EpsilonAgainstServer, OfManyUpdatesIsThatOfOneWithTheSharedNoise) {
  const double many = GuaranteeAgainstServer(PrivatePlan(2.0), 16).epsilon;
  EXPECT_NEAR(many, GuaranteeAgainstServer(PrivatePlan(0.5), 1).epsilon, 1e-6 * many);
  EXPECT_EQ(GuaranteeAgainstServer(PrivatePlan(2.0), 0).epsilon, 0.0);
}

TEST(EpsilonAgainstServer, NeverFallsWithMoreUpdatesOrLessNoise) {
  double last = 0;
  for (const int64_t updates : {1, 2, 3, 10, 1000}) {
    const double epsilon = GuaranteeAgainstServer(PrivatePlan(1.0), updates).epsilon;
    EXPECT_GT(epsilon, last);
    EXPECT_LT(epsilon, GuaranteeAgainstServer(PrivatePlan(0.99), updates).epsilon);
    last = epsilon;
  }
}

// The server knows who takes part.
TEST(EpsilonAgainstServer, IsNotAmplifiedBySampling) {
  const double epsilon = ServerEpsilon(Account(PrivatePlan(1.0), 30));
  EXPECT_EQ(epsilon, GuaranteeAgainstServer(PrivatePlan(1.0), 30).epsilon);
  for (const int64_t devices : {50, 1000000}) {
    Plan plan = PrivatePlan(1.0);
    plan.devices = devices;
    EXPECT_EQ(ServerEpsilon(Account(plan, 30)), epsilon);
    plan.sampling = Sampling::kPoisson;
    EXPECT_EQ(ServerEpsilon(Account(plan, 30)), epsilon);
  }
}

TEST(EpsilonAgainstServer, CountsEarlierJobsByWhatTheServerHasSeen) {
  const Plan plan = PrivatePlan(2.0);
  const Plan other = PrivatePlan(1.0);  // four updates at 2 are one at 1
  const double order = Epsilon({{Sampling::kNone, 1.0, 1.0, other.rounds}}, other.delta).order;
  const Accountant filter = Accountant::RdpFilter(order);
  const double epsilon =
      AccountFor({{Sampling::kNone, 2.0, 1.0, 4 + 4 * 3}}, plan.delta, filter).epsilon;
  EXPECT_GE(epsilon, GuaranteeAgainstServer(plan, 4 + 4 * 3).epsilon);
  EXPECT_NEAR(GuaranteeAgainstServer(plan, 4, {{other, 3}}).epsilon, epsilon, 1e-6 * epsilon);
  EXPECT_NEAR(GuaranteeAgainstServer(plan, 4, {{other, 1, 3}}).epsilon, epsilon, 1e-6 * epsilon);
  EXPECT_EQ(ServerEpsilon(Account(plan, 4, {{other, 1, 3}})),
            GuaranteeAgainstServer(plan, 4, {{other, 3}}).epsilon);
  EXPECT_EQ(GuaranteeAgainstServer(plan, 4, {{PrivatePlan(0.0), 0}}).epsilon,
            GuaranteeAgainstServer(plan, 4).epsilon);
  EXPECT_EQ(GuaranteeAgainstServer(plan, 4, {{PrivatePlan(0.0), 1}}).epsilon,
            std::numeric_limits<double>::infinity());
}

TEST(TrustMode, IsThatOfThePlansPrivateNoise) {
  const Statement trusted = Account(PrivatePlan(0.0), 30);
  EXPECT_EQ(trusted.Headline().trust_mode, TrustMode::kTrustedServer);
  EXPECT_STREQ(Name(trusted.Headline().trust_mode), "trusted-server");
  EXPECT_EQ(ServerEpsilon(trusted), std::numeric_limits<double>::infinity());
  EXPECT_EQ(ServerUpdateEpsilon(trusted), std::numeric_limits<double>::infinity());

  const Statement noisy = Account(PrivatePlan(1.0), 30);
  EXPECT_EQ(noisy.Headline().trust_mode, TrustMode::kPrivateNoise);
  EXPECT_STREQ(Name(noisy.Headline().trust_mode), "private-noise");
  EXPECT_EQ(noisy.private_noise_multiplier, 1.0);
  EXPECT_EQ(ServerUpdateEpsilon(noisy), GuaranteeAgainstServer(PrivatePlan(1.0), 1).epsilon);
  EXPECT_DOUBLE_EQ(PrivatePlan(1.0).PrivateNoiseSigma(), 0.8);
}

// What is stated of the released models does not count it, but for the refusals that it brings:
// 2^-127 a round. With more private noise the figure against the server would be below them, and
// take their place (claim_test.cc).
TEST(TrustMode, ChangesOtherFiguresByTheRefusalsAlone) {
  const Statement trusted = Account(PrivatePlan(0.0), 30);
  const Statement noisy = Account(PrivatePlan(0.3), 30);
  EXPECT_GE(noisy.epsilon(), trusted.epsilon());
  EXPECT_NEAR(noisy.epsilon(), trusted.epsilon(), 1e-9);
  EXPECT_GE(NetworkEpsilon(noisy), NetworkEpsilon(trusted));
  EXPECT_NEAR(NetworkEpsilon(noisy), NetworkEpsilon(trusted), 1e-9);
  EXPECT_EQ(noisy.noise_multiplier, trusted.noise_multiplier);
}

TEST(TrustMode, ChargesARefusalForEachRoundOfEachJobWithPrivateNoise) {
  const double one = -127 * std::log(2.0);
  EXPECT_EQ(ComposeReleases(PrivatePlan(0.0), 30, {}).deviations.log_refusal, -kInfinity);
  const Composition alone = ComposeReleases(PrivatePlan(1.0), 30, {});
  EXPECT_NEAR(alone.deviations.log_refusal, one + std::log(30.0), 1e-12);
  const Composition after =
      ComposeReleases(PrivatePlan(1.0), 30, {{PrivatePlan(2.0), 10}, {PrivatePlan(0.0), 5}});
  EXPECT_NEAR(after.deviations.log_refusal, one + std::log(40.0), 1e-12);
  EXPECT_EQ(WithDrawsKnown(after).deviations.log_refusal, after.deviations.log_refusal);
}

TEST(EpsilonAgainstServer, RefusesWhatIsNoNoise) {
  for (const double z : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THROW(GuaranteeAgainstServer(PrivatePlan(z), 1), std::invalid_argument) << z;
  }
  EXPECT_THROW(GuaranteeAgainstServer(PrivatePlan(1.0), -1), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
