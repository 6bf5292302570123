// Plans whose rounds differ: the bound that follows from local steps, and what such rounds cost.
#include "plans/schedule.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <vector>

#include "accounting/gdp.h"
#include "fleet_plan.h"
#include "plans/calibration.h"
#include "plans/statement.h"
#include "published/asymptotic.h"

namespace sotto::privacy {
namespace {

constexpr int64_t kSteps = 7;

StepBound Training(LearningRateSchedule schedule, double proximal) {
  return {3.0, proximal, kSteps, {0.2, 0.98, schedule}};
}

// Full participation with exact Gaussian noise: nothing but the composition decides.
Plan IdealPlan(int64_t rounds) {
  Plan plan = FleetPlan(Sampling::kFull, 0);
  plan.devices = plan.cohort = plan.planned_reports = 100;
  plan.rounds = rounds;
  plan.noise_sigma = 0.3;
  plan.certificate = {};
  return plan;
}

double Epsilon(const Plan& plan) { return Account(plan, plan.rounds).epsilon(); }

TEST(ScheduleTest, WithoutAProximalTermTheBoundIsTheSumOfTheRates) {
  for (int i = 0; i <= static_cast<int>(LearningRateSchedule::kInverseSqrtAllSteps); ++i) {
    const StepBound training = Training(static_cast<LearningRateSchedule>(i), 0);
    for (const int64_t round : {0, 1, 20}) {
      double sum = 0;
      for (uint64_t k = 0; k < kSteps; ++k) {
        sum += training.rate.Rate(static_cast<uint64_t>(round), k, kSteps);
      }
      EXPECT_NEAR(BoundOf(training, round), 3.0 * sum, 1e-13 * sum);
    }
  }
}

TEST(ScheduleTest, WithAProximalTermTheBoundIsAGeometricSumBelowThatOfThePaper) {
  const double alpha = 0.5;
  StepBound training = Training(LearningRateSchedule::kConstant, alpha);
  training.rate.decay = 1;
  const double expected = 3.0 / alpha * (1 - std::pow(1 - alpha * 0.2, kSteps));
  EXPECT_NEAR(BoundOf(training, 4), expected, 1e-13);
  EXPECT_LT(BoundOf(training, 4), 3.0 / alpha);
  training.steps = 1000;
  EXPECT_NEAR(BoundOf(training, 0), 3.0 / alpha, 1e-12);  // Lemma 4: the limit
}

// Lemmas 1 and 3 by trainings in two dimensions.
TEST(ScheduleTest, NoTrainingLeavesTheBoundAndOneReachesIt) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> angle(0, 6.283185307179586);
  for (const double alpha : {0.0, 0.5, 4.0, 9.0}) {  // alpha eta up to 1.8: steps overshoot
    const StepBound training = Training(LearningRateSchedule::kInverseStep, alpha);
    for (int trial = 0; trial < 50; ++trial) {
      const bool is_straight = trial == 0;
      double x = 0;
      double y = 0;
      for (uint64_t k = 0; k < kSteps; ++k) {
        const double eta = training.rate.Rate(0, k, kSteps);
        const double a = is_straight ? 0 : angle(random);
        x -= eta * (3.0 * std::cos(a) + alpha * x);
        y -= eta * (3.0 * std::sin(a) + alpha * y);
      }
      EXPECT_LE(std::hypot(x, y), BoundOf(training, 0) * (1 + 1e-12));
      if (is_straight && alpha * 0.2 <= 1) {
        EXPECT_NEAR(std::hypot(x, y), BoundOf(training, 0), 1e-12);
      }
    }
  }
}

TEST(ScheduleTest, NoiseFallsAsInEquation17) {
  RoundSchedule schedule;
  schedule.noise_decay = 0.9;
  const std::vector<double> published = DynamicNoiseFactors(30, 0.9);
  for (int64_t k = 0; k < 30; ++k) {
    const double factor = schedule.TermsOf(k).noise_factor;
    EXPECT_NEAR(factor, published[static_cast<size_t>(k)] / published[0], 1e-14);
    EXPECT_EQ(schedule.TermsOf(k).clip_factor, 1);
  }
  EXPECT_NEAR(1 / schedule.TermsOf(29).noise_factor, 2.147, 1e-3);  // Fig. 6 of the paper
}

// mu^2 = sum of 1 / z_t^2, by a loop of this test's own.
TEST(ScheduleTest, FullParticipationCostsThePlainSumOfAllRounds) {
  Plan plan = IdealPlan(30);
  plan.schedule.noise_decay = 0.9;
  plan.schedule.bound = {3.0, 0.1, 5, {0.05, 1.0, LearningRateSchedule::kInverseRound}};
  plan.clip_l2 = BoundOf(plan.schedule.bound, 0);
  double square = 0;
  for (int t = 0; t < 30; ++t) {
    const double eta = 0.05 / (t + 1);
    double bound = 0;
    for (int k = 0; k < 5; ++k) bound = (1 - 0.1 * eta) * bound + 3.0 * eta;
    const double z = 0.3 * std::pow(0.9, t / 4.0) * std::sqrt(99.0) / (2 * bound);
    square += 1 / (z * z);
  }
  const Statement statement = Account(plan, 30);
  const double expected = GdpEpsilon(std::sqrt(square), plan.delta);
  EXPECT_NEAR(statement.epsilon(), expected, 1e-8 * expected);
  EXPECT_EQ(statement.EpsilonOf(Adversary::kNetwork, View::kReleasesAndParticipants),
            statement.epsilon());
  EXPECT_NEAR(statement.accounted_noise_multiplier, plan.AccountedNoiseMultiplier(29), 1e-12);
}

// Theorem 12 (c) of f-DP is a composition: stage-wise rates cost at most sqrt(2 - 1/T) rounds.
TEST(ScheduleTest, StagewiseRatesCostLessThanTwoFirstRounds) {
  Plan plan = IdealPlan(200);
  plan.schedule.bound = {1.0, 0, 4, {0.1, 1.0, LearningRateSchedule::kInverseRound}};
  plan.clip_l2 = 0.4;
  const double z = plan.AccountedNoiseMultiplier();
  const double limit = GdpEpsilon(std::sqrt(2 - 1 / 200.0) / z, plan.delta);
  EXPECT_LT(Epsilon(plan), limit);
  EXPECT_GT(Epsilon(plan), 0.85 * limit);
}

// RDP of the Poisson-subsampled Gaussian at an integer order, summed over the rounds in doubles.
double ReferenceEpsilon(const Plan& plan) {
  const double q = plan.SamplingRate();
  double best = HUGE_VAL;
  for (int order = 2; order <= 64; ++order) {
    double rho = 0;
    for (int t = 0; t < plan.rounds; ++t) {
      const double z = plan.noise_sigma * std::pow(plan.schedule.noise_decay, t / 4.0) *
                       std::sqrt(static_cast<double>(plan.planned_reports - 1)) / plan.clip_l2;
      double moment = 0;
      for (int k = 0; k <= order; ++k) {
        moment += std::exp(std::lgamma(order + 1.0) - std::lgamma(k + 1.0) -
                           std::lgamma(order - k + 1.0) + k * std::log(q) +
                           (order - k) * std::log1p(-q) + k * (k - 1) / (2 * z * z));
      }
      rho += std::log(moment) / (order - 1);
    }
    best = std::min(best, rho + std::log1p(-1.0 / order) -
                              (std::log(plan.delta) + std::log(order)) / (order - 1));
  }
  return best;
}

TEST(ScheduleTest, SampledRoundsCostWhatAReferenceCompositionSays) {
  Plan plan = FleetPlan(Sampling::kPoisson, 1000);  // no draw exceeds that cap
  plan.certificate = {};
  plan.noise_sigma = 0.02;
  plan.schedule.noise_decay = 0.9;
  plan.accountant = Accountant("rdp");
  const double reference = ReferenceEpsilon(plan);
  // Real orders do better than integers, by little.
  EXPECT_LE(Epsilon(plan), reference * (1 + 1e-9));
  EXPECT_GE(Epsilon(plan), reference * 0.97);
  plan.accountant = Accountant();
  EXPECT_LT(Epsilon(plan), reference);
  EXPECT_GT(Epsilon(plan), reference * 0.6);
}

TEST(ScheduleTest, ThousandsOfRoundsAreChargedInGroupsThatCostHardlyMore) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kPoisson}) {
    Plan plan = FleetPlan(sampling, 1000);
    plan.rounds = 2000;
    plan.noise_sigma = sampling == Sampling::kUniform ? 2 : 0.2;
    plan.accountant = Accountant("rdp");
    const auto with_decay = [&](double decay) {
      plan.schedule.noise_decay = decay;
      return Epsilon(plan);
    };
    const double grouped = with_decay(0.999);
    // One setting for all rounds, of the same sum of 1 / z^2.
    double square = 0;
    for (int t = 0; t < 2000; ++t) square += std::pow(0.999, -t / 2.0);
    plan.noise_sigma *= std::sqrt(2000 / square);
    const double alike = with_decay(1);
    EXPECT_GT(grouped, alike);
    EXPECT_LT(grouped, 1.1 * alike);
  }
}

TEST(ScheduleTest, CalibrationScalesTheWholeScheduleToTheBudget) {
  for (const Sampling sampling : {Sampling::kUniform, Sampling::kFull}) {
    Plan plan = FleetPlan(sampling, 0);
    if (sampling == Sampling::kFull) plan.cohort = plan.devices;
    plan.schedule.noise_decay = 0.9;
    plan.accountant = Accountant("rdp");
    const Plan fitted = PlanForEpsilon(plan, 4);
    EXPECT_LE(Epsilon(fitted), 4);
    EXPECT_GE(Epsilon(fitted), 3.99);
    Plan constant = plan;
    constant.schedule = {};
    constant = PlanForEpsilon(constant, 4);
    EXPECT_GT(fitted.noise_sigma, constant.noise_sigma);  // of round 0
    EXPECT_LT(fitted.noise_sigma * fitted.schedule.TermsOf(29).noise_factor, constant.noise_sigma);
    if (sampling != Sampling::kFull) continue;
    // There Lemma 4 of Gau-LRQ holds: the schedule costs what its normalisation says.
    EXPECT_NEAR(fitted.noise_sigma / constant.noise_sigma, DynamicNoiseFactors(30, 0.9)[0], 1e-6);
  }
}

// The paper's claim that every schedule costs the same fails where cohorts are sampled.
TEST(ScheduleTest, Lemma4OfGauLrqMissesTheCostOfSampledSchedules) {
  Plan plan = FleetPlan(Sampling::kPoisson, 1000);
  plan.certificate = {};
  plan.noise_sigma = 0.02;
  const double constant = Epsilon(plan);
  plan.schedule.noise_decay = 0.9;
  plan.noise_sigma *= DynamicNoiseFactors(30, 0.9)[0];
  EXPECT_GT(Epsilon(plan), 1.1 * constant);
}

TEST(ScheduleTest, AnEarlierJobIsChargedByItsOwnSchedule) {
  Plan earlier = IdealPlan(12);
  earlier.schedule.noise_decay = 0.7;
  earlier.accountant = Accountant("rdp");
  Plan constant = earlier;
  constant.schedule = {};
  double square = 0;
  for (int t = 0; t < 12; ++t) square += std::pow(earlier.AccountedNoiseMultiplier(t), -2);
  constant.noise_sigma *=
      std::sqrt(12 / square) / constant.AccountedNoiseMultiplier();  // z^2 = 12 / square
  Plan next = IdealPlan(3);
  EXPECT_NEAR(Account(next, 3, {{earlier, 12}}).epsilon(),
              Account(next, 3, {{constant, 12}}).epsilon(), 1e-6);
}

TEST(ScheduleTest, BadSchedulesAndExtraCoordinatesAreRefused) {
  for (const double bad : {0.0, 1.1, -1.0, std::nan("")}) {
    Plan plan = IdealPlan(5);
    plan.schedule.noise_decay = bad;
    EXPECT_THROW(plan.Validate(), std::invalid_argument) << bad;
  }
  Plan plan = IdealPlan(1000);
  plan.schedule.noise_decay = 0.5;
  EXPECT_THROW(plan.Validate(), std::invalid_argument);  // no noise is left in the end
  plan = IdealPlan(5);
  plan.schedule.noise_decay = 0.9;
  plan.clip_bit_scale = 0.1;
  EXPECT_THROW(plan.Validate(), std::invalid_argument);
  for (const StepBound& bad :
       {StepBound{-1, 0, 1, {}}, StepBound{1, -1, 1, {}}, StepBound{1, 0, 0, {}},
        StepBound{1, 0, 70000, {}}, StepBound{1, 0, 1, {0.0, 1.0}}, StepBound{1, 0, 1, {0.1, 2}},
        StepBound{1, 1e6, 60000, {}}}) {
    plan = IdealPlan(5);
    plan.schedule.bound = bad;
    EXPECT_THROW(plan.Validate(), std::invalid_argument);
  }
}

TEST(ScheduleTest, FullParticipationNeedsACohortOfAll) {
  Plan plan = IdealPlan(5);
  EXPECT_EQ(PairedAdjacency(plan.sampling), Adjacency::kReplaceOne);
  const std::vector<Assumption> assumptions = Account(plan, 5).Headline().assumptions;
  EXPECT_EQ(std::count(assumptions.begin(), assumptions.end(), Assumption::kParticipationIsSecret),
            0);
  plan.cohort = plan.planned_reports = 99;
  EXPECT_THROW(plan.Validate(), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::privacy
