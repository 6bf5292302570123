// Calibration: the smallest noise for a target epsilon.
#include "plans/calibration.h"

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "accounting/binomial.h"
#include "plans/statement.h"
#include "unit/privacy/figures.h"
#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

Plan MnistPlan(Sampling sampling) { return FleetPlan(sampling, 110); }

double EpsilonWith(Plan plan, double sigma) {
  plan.noise_sigma = sigma;
  return Account(plan, plan.rounds).epsilon();
}

TEST(CalibrationTest, UniformMnistSettingsNeedTheKnownNoise) {
  Plan plan = MnistPlan(Sampling::kUniform);
  plan.accountant = Accountant("rdp");
  plan.colluders = 0;
  plan.certificate = {};
  plan.noise_sigma = Calibrate(plan, 6);
  EXPECT_NEAR(plan.noise_sigma * std::sqrt(50) / plan.clip_l2, 1.40, 0.01);
  EXPECT_NEAR(plan.NoiseMultiplier(), 0.70, 0.005);
}

TEST(CalibrationTest, IsTheInverseOfTheAccountAndNeverExceedsTheTarget) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    const Plan plan = MnistPlan(sampling);
    for (const double target : {0.05, 0.3, 1.0, 6.0, 10.0}) {
      const double sigma = Calibrate(plan, target);
      const double epsilon = EpsilonWith(plan, sigma);
      EXPECT_LE(epsilon, target) << Name(sampling);
      EXPECT_NEAR(epsilon, target, 1e-6 * target) << Name(sampling);
      EXPECT_GT(EpsilonWith(plan, sigma * (1 - 2e-9)), target) << Name(sampling);
    }
  }
}

TEST(CalibrationTest, WorksAtTheEndsOfItsRange) {
  Plan plan = MnistPlan(Sampling::kUniform);
  plan.certificate = {};
  for (const double target : {0.002, 1e3, 1e6}) {
    const double epsilon = EpsilonWith(plan, Calibrate(plan, target));
    EXPECT_LE(epsilon, target);
    EXPECT_NEAR(epsilon, target, 1e-6 * target);
  }
}

TEST(CalibrationTest, APlanWithAScheduleEndsNearItsBudget) {
  Plan plan = MnistPlan(Sampling::kPoisson);
  plan.devices = 1920;
  plan.cohort = 80;
  plan.delta = 1e-5;
  for (const double decay : {0.9, 0.98}) {
    plan.schedule.noise_decay = decay;
    const Plan fitted = PlanForEpsilon(plan, 3.0);
    const double epsilon = Account(fitted, fitted.rounds).epsilon();
    EXPECT_LE(epsilon, 3.0) << decay;
    EXPECT_GT(epsilon, 2.98) << decay;
  }
}

TEST(CalibrationTest, NoiseNeverRisesWithTheTarget) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    double last = kInf;
    for (const double target : {0.1, 0.5, 0.51, 2.0, 5.0, 9.0}) {
      const double sigma = Calibrate(MnistPlan(sampling), target);
      EXPECT_LT(sigma, last);
      last = sigma;
    }
  }
}

TEST(CalibrationTest, InvertsTheAccountWhereTheGoodEventIsStated) {
  Plan plan = MnistPlan(Sampling::kUniform);
  plan.devices = plan.cohort = plan.planned_reports = 3;
  double last = kInf;
  for (const double target : {60.0, 150.0, 300.0}) {
    plan.noise_sigma = Calibrate(plan, target);
    const Statement statement = Account(plan, plan.rounds);
    EXPECT_EQ(statement.terms[0].terms, EncoderTerms::kGoodEvent);
    EXPECT_LE(statement.epsilon(), target);
    EXPECT_NEAR(statement.epsilon(), target, 1e-6 * target);
    EXPECT_LT(plan.noise_sigma, last);
    last = plan.noise_sigma;
  }
}

TEST(CalibrationTest, ATargetInsideAJumpGetsTheSmallestNoiseBelowIt) {
  Plan plan = MnistPlan(Sampling::kUniform);  // by RDP from 25 to 123
  plan.accountant = Accountant("rdp");
  const double target = 60;
  const double sigma = Calibrate(plan, target);
  EXPECT_LT(EpsilonWith(plan, sigma), target);
  EXPECT_GT(EpsilonWith(plan, sigma * (1 - 1e-7)), target);
}

TEST(CalibrationTest, TheNoiseOfAnEarlierCalibrationDoesNotMatter) {
  Plan plan = MnistPlan(Sampling::kUniform);
  const double sigma = Calibrate(plan, 6);
  plan.noise_sigma = 123;
  EXPECT_EQ(Calibrate(plan, 6), sigma);
}

TEST(CalibrationTest, BelowTheCertificatesFloorTheSmallestAttainableIsNamed) {
  Plan plan = MnistPlan(Sampling::kUniform);
  plan.certificate.eta = 1e-5;
  double floor = 0;
  try {
    Calibrate(plan, 0.01);
    FAIL() << "an epsilon below the certificate's own was promised";
  } catch (const UnattainableEpsilon& error) {
    floor = error.smallest();
  }
  EXPECT_GT(floor, 0.01);
  EXPECT_TRUE(std::isfinite(floor));
  EXPECT_LE(EpsilonWith(plan, Calibrate(plan, floor * 1.001)), floor * 1.001);
  EXPECT_THROW(Calibrate(plan, floor * 0.999), UnattainableEpsilon);
}

TEST(CalibrationTest, ACohortOfColludersAttainsNothing) {
  Plan plan = MnistPlan(Sampling::kUniform);
  plan.colluders = plan.cohort;
  try {
    Calibrate(plan, 6);
    FAIL() << "noise that every participant knows was counted";
  } catch (const UnattainableEpsilon& error) {
    EXPECT_EQ(error.smallest(), kInf);
  }
}

TEST(CalibrationTest, PoissonPlanForATargetKeepsTheCapWithinItsShareOfDelta) {
  Plan plan = MnistPlan(Sampling::kPoisson);
  plan.planned_reports = 0;
  for (const double target : {0.1, 1.0, 8.0}) {
    const Plan fitted = PlanForEpsilon(plan, target);
    const Statement statement = Account(fitted, fitted.rounds);
    EXPECT_LE(statement.epsilon(), target);
    EXPECT_NEAR(statement.epsilon(), target, 1e-6 * target);
    const double charge =
        (1 + std::exp(statement.epsilon())) * 30 *
        std::exp(LogBinomialTail(fitted.devices, fitted.SamplingRate(), fitted.planned_reports));
    EXPECT_LE(charge, kDeltaShare * plan.delta);
  }
}

TEST(CalibrationTest, UniformPlanForATargetPlansTheCohort) {
  Plan plan = MnistPlan(Sampling::kUniform);
  plan.planned_reports = 0;
  EXPECT_EQ(PlanForEpsilon(plan, 6).planned_reports, 50);
  EXPECT_EQ(WithPlannedReports(plan, 6).planned_reports, 50);
}

TEST(CalibrationTest, PlanForANoiseMultiplierFindsTheCapThatSuitsItsOwnEpsilon) {
  const Plan plan = MnistPlan(Sampling::kPoisson);
  for (const double z : {0.4, 1.0, 5.0}) {
    const FittedPlan fitted = PlanForNoiseMultiplier(plan, z);
    EXPECT_NEAR(fitted.plan.NoiseMultiplier(), z, 1e-14);
    EXPECT_GE(fitted.passes, 1);
    const double epsilon = Account(fitted.plan, plan.rounds).epsilon();
    EXPECT_TRUE(std::isfinite(epsilon));
    EXPECT_LE(WithPlannedReports(fitted.plan, epsilon).planned_reports,
              fitted.plan.planned_reports);
  }
}

TEST(CalibrationTest, PlanForANoiseMultiplierWithoutASamplingCapTakesNoPasses) {
  const FittedPlan fitted = PlanForNoiseMultiplier(MnistPlan(Sampling::kUniform), 0.7);
  EXPECT_EQ(fitted.passes, 0);
  EXPECT_EQ(fitted.plan.planned_reports, 50);
  EXPECT_NEAR(fitted.plan.NoiseMultiplier(), 0.7, 1e-15);
}

TEST(CalibrationTest, ATinyFleetWithAHighRateIsAccountedHoweverLarge) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    Plan plan = MnistPlan(sampling);
    plan.devices = 3;
    plan.cohort = 2;
    plan.certificate = {};
    const FittedPlan fitted = PlanForNoiseMultiplier(plan, 0.3);
    const double epsilon = Account(fitted.plan, plan.rounds).epsilon();
    EXPECT_TRUE(std::isfinite(epsilon));
    EXPECT_GT(epsilon, 100);
  }
}

TEST(CalibrationTest, TheBestAccountantAsksForNoMoreNoise) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    Plan plan = MnistPlan(sampling);
    for (const double target : {0.3, 6.0}) {
      plan.accountant = Accountant("best");
      const double best = Calibrate(plan, target);
      plan.accountant = Accountant("rdp");
      EXPECT_LE(best, Calibrate(plan, target)) << Name(sampling) << target;
    }
  }
}

TEST(CalibrationTest, NoiseFactorIsTheInverseOfTheAccountForAScheduleOfRounds) {
  const std::vector<GaussianRounds> schedule = {{Sampling::kPoisson, 1.2, 0.05, 10},
                                                {Sampling::kPoisson, 0.9, 0.02, 20}};
  for (const Accountant accountant :
       {Accountant("best"), Accountant("rdp"), Accountant("rdp-classic"), Accountant("pld")}) {
    for (const double target : {0.5, 3.0}) {
      const double factor = NoiseFactor(schedule, target, 1e-5, accountant);
      std::vector<GaussianRounds> scaled = schedule;
      for (GaussianRounds& r : scaled) r.noise_multiplier *= factor;
      const double epsilon = AccountFor(scaled, 1e-5, accountant).epsilon;
      EXPECT_LE(epsilon, target) << accountant.name();
      EXPECT_NEAR(epsilon, target, 1e-6 * target) << accountant.name();
    }
  }
}

TEST(CalibrationTest, NoiseFactorRefusesWhatNoNoiseCanChange) {
  EXPECT_THROW(NoiseFactor({}, 1, 1e-5, Accountant("best")), std::invalid_argument);
  EXPECT_THROW(NoiseFactor({{Sampling::kPoisson, 1, 0, 5}}, 1, 1e-5, Accountant("best")),
               std::invalid_argument);
  EXPECT_THROW(NoiseFactor({{Sampling::kNone, 0, 1, 5}}, 1, 1e-5, Accountant("best")),
               std::invalid_argument);
  EXPECT_THROW(NoiseFactor({{Sampling::kNone, 1, 1, 5}}, 0, 1e-5, Accountant("best")),
               std::invalid_argument);
}

TEST(CalibrationTest, AffordableRoundsIsTheLastNumberWithinTheBudget) {
  for (const Accountant accountant : {Accountant("best"), Accountant("rdp"), Accountant("pld")}) {
    for (GaussianRounds round : {GaussianRounds{Sampling::kPoisson, 1.0, 0.05, 1},
                                 GaussianRounds{Sampling::kUniform, 3.0, 0.1, 1},
                                 GaussianRounds{Sampling::kNone, 9.0, 1.0, 1}}) {
      const int64_t rounds = AffordableRounds(round, 2.0, 1e-5, accountant);
      ASSERT_GT(rounds, 0);
      round.rounds = rounds;
      EXPECT_LE(AccountFor({round}, 1e-5, accountant).epsilon, 2.0);
      ++round.rounds;
      EXPECT_GT(AccountFor({round}, 1e-5, accountant).epsilon, 2.0);
    }
  }
  EXPECT_EQ(AffordableRounds({Sampling::kNone, 0.1, 1.0, 1}, 2.0, 1e-5, Accountant("best")), 0);
  EXPECT_EQ(AffordableRounds({Sampling::kNone, 1e9, 1.0, 1}, 2.0, 1e-5, Accountant("best")),
            kMaxAffordableRounds);
}

TEST(CalibrationTest, BadTargetsThrow) {
  const Plan plan = MnistPlan(Sampling::kUniform);
  for (const double target : {0.0, -1.0, std::nan(""), kInf, 2e6}) {
    EXPECT_THROW(Calibrate(plan, target), std::invalid_argument);
  }
  Plan bad = plan;
  bad.delta = 0;
  EXPECT_THROW(Calibrate(bad, 1), std::invalid_argument);
  EXPECT_THROW(PlanForEpsilon(bad, 1), std::invalid_argument);
  EXPECT_THROW(PlanForNoiseMultiplier(plan, -1), std::invalid_argument);
  EXPECT_THROW(PlanForNoiseMultiplier(plan, kInf), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
