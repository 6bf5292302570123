// Plans: their ranges, their noise, and the statement after some rounds.
#include "plans/plan.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <vector>

#include "plans/statement.h"
#include "unit/privacy/figures.h"
#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

Plan NoisyPlan(Sampling sampling) {
  Plan plan = FleetPlan(sampling, 100);
  plan.noise_sigma = 0.1;
  return plan;
}

Plan UniformPlan() { return NoisyPlan(Sampling::kUniform); }
Plan PoissonPlan() { return NoisyPlan(Sampling::kPoisson); }

double EpsilonOf(const Plan& plan) { return Account(plan, plan.rounds).epsilon(); }

TEST(PlanTest, NoiseMultiplierIsTheNoiseOfTheSumOverItsSensitivity) {
  EXPECT_NEAR(UniformPlan().NoiseMultiplier(), std::sqrt(50) * 0.1 / 0.8, 1e-15);
  EXPECT_NEAR(PoissonPlan().NoiseMultiplier(), std::sqrt(100) * 0.1 / 0.4, 1e-15);
  EXPECT_NEAR(UniformPlan().AccountedNoiseMultiplier(), std::sqrt(49) * 0.1 / 0.8, 1e-15);
  Plan plan = UniformPlan();
  plan.colluders = 50;
  EXPECT_EQ(plan.AccountedNoiseMultiplier(), 0);
  plan.colluders = 51;
  EXPECT_EQ(plan.AccountedNoiseMultiplier(), 0);
}

TEST(PlanTest, SigmaForNoiseMultiplierInvertsIt) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    plan.noise_sigma = SigmaForNoiseMultiplier(plan, 0.7);
    EXPECT_NEAR(plan.NoiseMultiplier(), 0.7, 1e-15);
  }
  EXPECT_THROW(SigmaForNoiseMultiplier(UniformPlan(), 0), std::invalid_argument);
  EXPECT_THROW(SigmaForNoiseMultiplier(UniformPlan(), std::nan("")), std::invalid_argument);
}

TEST(PlanTest, ABitBesideEachUpdateIsAccountedWithIt) {
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    Plan with_bit = plan;
    with_bit.clip_bit_scale = 2 * plan.clip_l2 * 0.75;
    EXPECT_NEAR(with_bit.Sensitivity(), 1.25 * plan.Sensitivity(), 1e-15);
    EXPECT_NEAR(with_bit.NoiseMultiplier(), plan.NoiseMultiplier() / 1.25, 1e-15);
    EXPECT_GT(EpsilonOf(with_bit), EpsilonOf(plan));
    const NoiseSplit split = SplitNoise(with_bit);
    EXPECT_NEAR(split.update_noise_multiplier, plan.NoiseMultiplier(), 1e-12);
    EXPECT_NEAR(1 / std::hypot(1 / split.update_noise_multiplier, 1 / split.bit_noise_multiplier),
                with_bit.NoiseMultiplier(), 1e-12);
    EXPECT_EQ(Account(with_bit, 3).noise_multiplier, with_bit.NoiseMultiplier());
  }
}

TEST(PlanTest, RoomForABitIsPaidWithNoiseNotWithEpsilon) {
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    for (const double share : {0.001, 0.08, 0.5}) {
      const Plan with_bit = WithExtras(plan, share, 0);
      EXPECT_NEAR(with_bit.NoiseMultiplier(), plan.NoiseMultiplier(), 1e-14);
      EXPECT_NEAR(EpsilonOf(with_bit), EpsilonOf(plan), 1e-9 * EpsilonOf(plan));
      EXPECT_NEAR(with_bit.noise_sigma, plan.noise_sigma / std::sqrt(1 - share), 1e-14);
    }
  }
  EXPECT_THROW(WithExtras(UniformPlan(), 1, 0), std::invalid_argument);
}

TEST(PlanTest, AStatementSaysWhatItsEpsilonMeans) {
  const Statement uniform = Account(UniformPlan(), 7);
  EXPECT_STREQ(Name(uniform.Headline().adjacency), "replace-one");
  EXPECT_STREQ(Name(uniform.sampling), "uniform");
  EXPECT_STREQ(Name(uniform.Headline().unit), "device");
  EXPECT_STREQ(Name(uniform.Headline().trust_mode), "trusted-server");
  EXPECT_EQ(uniform.Headline().accountant, uniform.terms[0].gaussian.winner);
  EXPECT_EQ(uniform.rounds, 7);
  EXPECT_EQ(uniform.Headline().colluders, 1);
  EXPECT_EQ(uniform.Headline().delta, UniformPlan().delta);
  const Statement poisson = Account(PoissonPlan(), 7);
  EXPECT_STREQ(Name(poisson.Headline().adjacency), "add-remove");
  EXPECT_STREQ(Name(poisson.sampling), "poisson");
}

TEST(PlanTest, TheLedgersAccountantIsTheOneThatWon) {
  const Statement poisson = Account(PoissonPlan(), 7);
  EXPECT_EQ(poisson.Headline().accountant, "pld");
  EXPECT_EQ(poisson.terms[0].gaussian.order, 0);
  EXPECT_GT(poisson.numeric_error(), 0);
  EXPECT_LT(poisson.numeric_error(), 0.1 * poisson.epsilon());
  Plan plan = PoissonPlan();
  plan.accountant = Accountant("rdp");
  const Statement by_rdp = Account(plan, 7);
  EXPECT_EQ(by_rdp.Headline().accountant, "rdp");
  EXPECT_GT(by_rdp.terms[0].gaussian.order, 1);
  EXPECT_FALSE(by_rdp.terms[0].gaussian.order_at_edge);
  EXPECT_GT(by_rdp.epsilon(), poisson.epsilon());
  EXPECT_GT(NetworkEpsilon(by_rdp), NetworkEpsilon(poisson));
}

TEST(PlanTest, EachSamplingIsAccountedUnderTheAdjacencyOfItsTheorem) {
  EXPECT_EQ(PairedAdjacency(Sampling::kPoisson), Adjacency::kAddRemove);
  EXPECT_EQ(PairedAdjacency(Sampling::kUniform), Adjacency::kReplaceOne);
  EXPECT_STREQ(Name(Sampling::kNone), "none");
}

TEST(PlanTest, WithoutCertificateAndCapItIsThePlainAccountant) {
  Plan plan = UniformPlan();
  plan.certificate = {};
  const double z = plan.AccountedNoiseMultiplier();
  const Statement statement = Account(plan, plan.rounds);
  EXPECT_EQ(statement.epsilon(),
            AccountFor({{Sampling::kUniform, z, 0.05, 30}}, plan.delta).epsilon);
  EXPECT_EQ(NetworkEpsilon(statement),
            AccountFor({{Sampling::kNone, z, 1.0, 30}}, plan.delta).epsilon);
}

TEST(PlanTest, ACapThatNoDrawExceedsCostsNothing) {
  Plan plan = PoissonPlan();
  plan.certificate = {};
  plan.planned_reports = plan.devices;
  const double z = plan.AccountedNoiseMultiplier();
  EXPECT_EQ(EpsilonOf(plan), AccountFor({{Sampling::kPoisson, z, 0.05, 30}}, plan.delta).epsilon);
}

TEST(PlanTest, ACapTheDrawsKeepExceedingIsInfinite) {
  Plan plan = PoissonPlan();
  plan.planned_reports = plan.cohort;
  EXPECT_EQ(EpsilonOf(plan), kInf);
}

TEST(PlanTest, CertificateTermsNeverLowerAStatement) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    for (const double sigma : {0.05, 0.1, 0.5, 3.0}) {
      plan.noise_sigma = sigma;
      plan.certificate = {1e-8, 3e-22, 9.7};
      const Statement with = Account(plan, plan.rounds);
      plan.certificate = {};
      const Statement without = Account(plan, plan.rounds);
      EXPECT_GT(with.epsilon(), without.epsilon());
      EXPECT_GT(NetworkEpsilon(with), NetworkEpsilon(without));
    }
  }
}

TEST(PlanTest, WhoeverWatchesTheNetworkNeverLearnsLess) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    for (const double sigma : {0.05, 0.1, 0.5, 3.0}) {
      plan.noise_sigma = sigma;
      const Statement statement = Account(plan, plan.rounds);
      EXPECT_GE(NetworkEpsilon(statement), statement.epsilon());
    }
  }
}

TEST(PlanTest, PublishedDeltaCoversEveryTermOfBothEpsilons) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    plan.noise_sigma = 0.3;
    const Statement statement = Account(plan, plan.rounds);
    const double n_tau = 7850.0 * static_cast<double>(plan.planned_reports) * 30 * 3e-22;
    for (size_t i = 0; i < 2; ++i) {
      const Guarantee& terms = statement.terms[i];
      const bool is_concentrated = terms.terms == EncoderTerms::kConcentrated;
      ASSERT_TRUE(is_concentrated || i == 1) << "only what is not sampled";
      ASSERT_TRUE(std::isfinite(terms.epsilon));
      const double encoder_delta = std::exp(terms.log_encoder_delta);
      EXPECT_GE(encoder_delta, n_tau);
      EXPECT_LE(std::exp(terms.encoder_epsilon) * terms.gaussian_delta +
                    encoder_delta * (is_concentrated ? 1 + std::exp(terms.gaussian.epsilon +
                                                                    terms.encoder_epsilon)
                                                     : 1),
                plan.delta);
      EXPECT_EQ(terms.epsilon, terms.gaussian.epsilon + 2 * terms.encoder_epsilon);
    }
    EXPECT_EQ(statement.epsilon(), statement.terms[0].epsilon);
    EXPECT_EQ(NetworkEpsilon(statement), statement.terms[1].epsilon);
  }
}

TEST(PlanTest, EpsilonNeverFallsWhenRoundsAreReleased) {
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    double last = 0;
    double last_network = 0;
    EXPECT_EQ(Account(plan, 0).epsilon(), 0);
    EXPECT_EQ(NetworkEpsilon(Account(plan, 0)), 0);
    for (int64_t rounds = 1; rounds <= plan.rounds; ++rounds) {
      const Statement statement = Account(plan, rounds);
      EXPECT_GT(statement.epsilon(), last);
      EXPECT_GE(NetworkEpsilon(statement), last_network);
      last = statement.epsilon();
      last_network = NetworkEpsilon(statement);
    }
  }
}

// Each change makes a plan no more private.
TEST(PlanTest, EpsilonIsMonotoneInEveryFieldOfThePlan) {
  const std::vector<std::function<void(Plan*)>> changes = {
      [](Plan* p) { p->noise_sigma *= 0.99; },    [](Plan* p) { p->clip_l2 *= 1.01; },
      [](Plan* p) { p->delta *= 0.9; },           [](Plan* p) { p->colluders += 1; },
      [](Plan* p) { p->colluders += 40; },        [](Plan* p) { p->rounds += 1; },
      [](Plan* p) { p->dimension *= 10; },        [](Plan* p) { p->certificate.eta *= 2; },
      [](Plan* p) { p->certificate.tau *= 100; }, [](Plan* p) { p->devices -= 100; },
  };
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    const double before = EpsilonOf(plan);
    for (size_t i = 0; i < changes.size(); ++i) {
      Plan changed = plan;
      changes[i](&changed);
      EXPECT_GE(EpsilonOf(changed), before) << Name(plan.sampling) << ", change " << i;
    }
  }
}

TEST(PlanTest, ColludersOrNoNoiseLeaveNothing) {
  Plan plan = UniformPlan();
  plan.colluders = plan.cohort;
  EXPECT_EQ(EpsilonOf(plan), kInf);
  plan = UniformPlan();
  plan.noise_sigma = 0;
  EXPECT_EQ(EpsilonOf(plan), kInf);
}

// The plan of 1,000 devices that earns epsilon 6 by RDP, to four digits.
Plan DefaultPlan() {
  Plan plan = UniformPlan();
  plan.noise_sigma = SigmaForNoiseMultiplier(plan, 0.7055);
  plan.accountant = Accountant("rdp");
  return plan;
}

TEST(PlanTest, ALargeNetworkEpsilonIsFiniteAndCloseToTheGaussians) {
  const Plan plan = DefaultPlan();
  const Statement statement = Account(plan, plan.rounds);
  EXPECT_EQ(statement.terms[1].terms, EncoderTerms::kGoodEvent);
  const double plain = AccountFor({{Sampling::kNone, plan.AccountedNoiseMultiplier(), 1.0, 30}},
                                  plan.delta, plan.accountant)
                           .epsilon;
  EXPECT_GT(plain, 50);
  EXPECT_GT(NetworkEpsilon(statement), plain);
  EXPECT_LT(NetworkEpsilon(statement), 1.01 * plain);
}

TEST(PlanTest, ASmallReleasedEpsilonDoesNotChangeWithTheGoodEvent) {
  Plan plan = DefaultPlan();
  const Statement both = Account(plan, plan.rounds);
  plan.certificate.range = 0;
  const Statement concentrated = Account(plan, plan.rounds);
  EXPECT_EQ(both.terms[0].terms, EncoderTerms::kConcentrated);
  EXPECT_EQ(both.epsilon(), concentrated.epsilon());
  EXPECT_NEAR(both.epsilon(), 6, 0.05);
  EXPECT_EQ(NetworkEpsilon(concentrated), kInf);
}

TEST(PlanTest, ThreeDevicesWithLittleNoiseHaveAFiniteEpsilon) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    plan.devices = plan.cohort = plan.planned_reports = 3;
    plan.noise_sigma = SigmaForNoiseMultiplier(plan, 0.35);
    const Statement statement = Account(plan, plan.rounds);
    EXPECT_EQ(statement.terms[0].terms, EncoderTerms::kGoodEvent);
    EXPECT_GT(statement.epsilon(), 100);
    EXPECT_LT(statement.epsilon(), 1000);
    EXPECT_EQ(statement.epsilon(), NetworkEpsilon(statement));
    const double z = plan.AccountedNoiseMultiplier();
    EXPECT_GT(statement.epsilon(), AccountFor({{Sampling::kNone, z, 1.0, 30}}, plan.delta).epsilon);
  }
}

TEST(PlanTest, AChangeTooLargeForTheCertificateOfItsNoisesIsInfinite) {
  Plan plan = UniformPlan();
  plan.devices = plan.cohort = plan.planned_reports = 3;
  plan.noise_sigma = plan.Sensitivity() / (2 * 9.7);  // two honest noises share the change
  EXPECT_EQ(EpsilonOf(plan), kInf);
}

TEST(PlanTest, FullParticipationIsAccountedWithoutAmplification) {
  Plan plan = UniformPlan();
  plan.sampling = Sampling::kNone;
  plan.cohort = plan.planned_reports = plan.devices;
  const Statement statement = Account(plan, plan.rounds);
  EXPECT_EQ(statement.epsilon(), NetworkEpsilon(statement));
}

TEST(PlanTest, BadPlansThrow) {
  const double nan = std::nan("");
  const std::vector<std::function<void(Plan*)>> mistakes = {
      [](Plan* p) { p->devices = 0; },
      [](Plan* p) { p->devices = 1'000'000'001; },
      [](Plan* p) { p->cohort = 0; },
      [](Plan* p) { p->cohort = -1; },
      [](Plan* p) { p->cohort = p->devices + 1; },
      [](Plan* p) { p->planned_reports = 0; },
      [](Plan* p) { p->planned_reports = p->devices + 1; },
      [](Plan* p) { p->rounds = 0; },
      [](Plan* p) { p->dimension = 0; },
      [](Plan* p) { p->clip_l2 = 0; },
      [=](Plan* p) { p->clip_l2 = nan; },
      [](Plan* p) { p->noise_sigma = -1; },
      [](Plan* p) { p->clip_bit_scale = -1; },
      [=](Plan* p) { p->clip_bit_scale = nan; },
      [](Plan* p) { p->clip_bit_scale = kInf; },
      [=](Plan* p) { p->noise_sigma = nan; },
      [](Plan* p) { p->noise_sigma = kInf; },
      [](Plan* p) { p->colluders = -1; },
      [](Plan* p) { p->delta = 0; },
      [](Plan* p) { p->delta = 1; },
      [=](Plan* p) { p->delta = nan; },
      [](Plan* p) { p->certificate.eta = -1e-9; },
      [](Plan* p) { p->certificate.tau = 1.5; },
      [](Plan* p) { p->certificate.range = -1; },
      [](Plan* p) { p->accountant = Accountant("gdp"); },
      [](Plan* p) { p->sampling = Sampling::kNone; },
  };
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    for (size_t i = 0; i < mistakes.size(); ++i) {
      Plan bad = plan;
      mistakes[i](&bad);
      EXPECT_THROW(Account(bad, 1), std::invalid_argument) << "mistake " << i;
    }
    EXPECT_THROW(Account(plan, -1), std::invalid_argument);
    EXPECT_THROW(Account(plan, plan.rounds + 1), std::invalid_argument);
  }
  Plan bad = UniformPlan();
  bad.planned_reports = 51;
  EXPECT_THROW(bad.Validate(), std::invalid_argument);
}

TEST(PlanTest, AnErrorNamesTheFieldItsValueAndItsRange) {
  Plan plan = UniformPlan();
  plan.cohort = 2000;
  try {
    plan.Validate();
    FAIL() << "a cohort larger than the fleet was accepted";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "cohort is 2000; it must be in [1, devices]");
  }
}

}  // namespace
}  // namespace sotto::privacy
