// Colluders know which of them were drawn, and can choose among the draws. No claim is below what
// they attain, by exact enumeration of small fleets.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "accounting/binomial.h"
#include "accounting/gdp.h"
#include "plans/calibration.h"
#include "plans/composition.h"
#include "plans/statement.h"
#include "unit/privacy/fleet_plan.h"
#include "unit/trials.h"

namespace sotto::privacy {
namespace {

// A plan without a certificate, clipping bound 1.
Plan SmallPlan(int64_t devices, int64_t cohort, int64_t colluders, double sigma, int64_t rounds) {
  Plan plan;
  plan.devices = devices;
  plan.cohort = plan.planned_reports = cohort;
  plan.rounds = rounds;
  plan.dimension = 1;
  plan.clip_l2 = 1.0;
  plan.noise_sigma = sigma;
  plan.colluders = colluders;
  plan.delta = 1e-5;
  return plan;
}

// The delta at e^epsilon = g of a device of rate q whose change is hidden by noise multiplier z.
// All other devices hold the data that the device would hold instead, so this is attained in one
// round.
double DeltaAt(double q, double z, double epsilon) {
  if (epsilon < 0) return -std::expm1(epsilon) + std::exp(epsilon) * DeltaAt(q, z, -epsilon);
  return q * GdpDelta(1 / z, std::log1p(std::expm1(epsilon) / q));
}

// One set of drawn devices out of N, as bits. The colluders are the last devices, the target is
// device 0.
struct Draws {
  int64_t colluding = 0;  // j
  int64_t all = 0;
  int64_t with_target = 0;
};

// Counts all cohorts of B of N devices by the number of colluders among them.
std::vector<Draws> Enumerate(const Plan& plan) {
  std::vector<Draws> by_colluders(static_cast<size_t>(plan.colluders) + 1);
  for (uint32_t cohort = 0; cohort < 1U << plan.devices; ++cohort) {
    int64_t size = 0;
    int64_t colluding = 0;
    for (int64_t device = 0; device < plan.devices; ++device) {
      if ((cohort >> device & 1U) == 0) continue;
      ++size;
      if (device >= plan.devices - plan.colluders) ++colluding;
    }
    if (size != plan.cohort) continue;
    Draws& draws = by_colluders[static_cast<size_t>(colluding)];
    draws.colluding = colluding;
    ++draws.all;
    if ((cohort & 1U) != 0) ++draws.with_target;
  }
  return by_colluders;
}

double RateOf(const Draws& draws) {
  return static_cast<double>(draws.with_target) / static_cast<double>(draws.all);
}

double NoiseOf(const Plan& plan, const Draws& draws) {
  return plan.SumDeviation(plan.planned_reports - draws.colluding) / plan.Sensitivity();
}

// The smallest epsilon at which `delta(epsilon)` is at most the target.
template <typename Delta>
double EpsilonWhere(double target, Delta delta) {
  double low = 0;
  double high = 100;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    (delta(middle) > target ? low : high) = middle;
  }
  return low;
}

// What colluders attain in one round if they cause attempts to be given up until their number in
// the cohort is the one they like.
double AttainedByChoice(const Plan& plan, double delta) {
  double attained = 0;
  for (const Draws& draws : Enumerate(plan)) {
    if (draws.with_target == 0) continue;
    attained = std::max(attained, EpsilonWhere(delta, [&](double epsilon) {
                          return DeltaAt(RateOf(draws), NoiseOf(plan, draws), epsilon);
                        }));
  }
  return attained;
}

// What they attain in one round by knowing, without a choice, who of them was drawn.
double AttainedByKnowing(const Plan& plan, double delta) {
  const std::vector<Draws> all = Enumerate(plan);
  int64_t cohorts = 0;
  for (const Draws& draws : all) cohorts += draws.all;
  return EpsilonWhere(delta, [&](double epsilon) {
    double sum = 0;
    for (const Draws& draws : all) {
      if (draws.with_target == 0) continue;
      sum += static_cast<double>(draws.all) / static_cast<double>(cohorts) *
             DeltaAt(RateOf(draws), NoiseOf(plan, draws), epsilon);
    }
    return sum;
  });
}

// As it was charged before colluders could choose: rate B / N, the noise of B - c.
GaussianRounds WithoutChoice(const Plan& plan) {
  return {plan.sampling, plan.AccountedNoiseMultiplier(), plan.SamplingRate(), plan.rounds};
}

TEST(ColludersTest, NoOneRoundClaimIsBelowWhatTheyAttain) {
  bool was_exceeded = false;
  int plans = 0;
  for (int64_t devices = 3; devices <= 10; ++devices) {
    for (int64_t cohort = 2; cohort <= devices; ++cohort) {
      for (int64_t colluders = 0; colluders < std::min<int64_t>(cohort, 4); ++colluders) {
        for (const double sigma : {1.0, 4.0}) {
          for (const char* accountant : {"best", "rdp"}) {
            if (!IsTried(plans++)) continue;
            Plan plan = SmallPlan(devices, cohort, colluders, sigma, 1);
            plan.accountant = Accountant(accountant);
            for (const double delta : {0.05, 1e-3, 1e-6}) {
              plan.delta = delta;
              SCOPED_TRACE(testing::Message() << cohort << " of " << devices << ", " << colluders
                                              << " collude, " << sigma << " " << delta);
              const double attained =
                  std::max(AttainedByChoice(plan, delta), AttainedByKnowing(plan, delta));
              EXPECT_GE(Account(plan, 1).epsilon(), attained * (1 - 1e-9));
              was_exceeded |= AccountFor({WithoutChoice(plan)}, delta).epsilon < attained;
            }
          }
        }
      }
    }
  }
  EXPECT_TRUE(was_exceeded) << "these fleets are no test";
}

// Ten devices, a cohort of nine, two colluders. They let only attempts through in which one of them
// is drawn. Then all eight other devices are drawn: nothing is sampled.
TEST(ColludersTest, ManyRoundsOfAFleetThatIsNearlyDrawnWhole) {
  const Plan plan = SmallPlan(10, 9, 2, 2.8, 30);
  const double mu = std::sqrt(30.0) * plan.Sensitivity() / plan.SumDeviation(8);
  const double attained = GdpEpsilon(mu, plan.delta);
  EXPECT_GT(attained, 6);
  EXPECT_LT(AccountFor({WithoutChoice(plan)}, plan.delta).epsilon, attained) << "no test";
  EXPECT_GE(Account(plan, 30).epsilon(), attained);
  Plan by_rdp = plan;
  by_rdp.accountant = Accountant("rdp");
  EXPECT_GE(Account(by_rdp, 30).epsilon(), attained);
}

// Lemma 9 of composition.h.
TEST(ColludersTest, ThePairThatIsChargedDominatesEveryChoice) {
  for (const int64_t devices : {10, 100, 1000}) {
    for (const double share : {0.05, 0.4, 0.6, 0.95}) {
      const auto cohort = static_cast<int64_t>(share * static_cast<double>(devices)) + 1;
      for (const int64_t colluders : {1, 3, 9}) {
        for (const double sigma : {0.3, 1.0, 10.0}) {
          if (colluders >= cohort) continue;
          const Plan plan = SmallPlan(devices, cohort, colluders, sigma, 1);
          const GaussianRounds charged = ComposeReleases(plan, 1, {}).rounds.at(0);
          EXPECT_GE(charged.sampling_rate, plan.SamplingRate());
          for (int64_t j = std::max<int64_t>(0, cohort - (devices - colluders)); j <= colluders;
               ++j) {
            const double rate =
                static_cast<double>(cohort - j) / static_cast<double>(devices - colluders);
            const double z = plan.SumDeviation(cohort - j) / plan.Sensitivity();
            for (double epsilon = -6; epsilon < 6; epsilon += 0.25) {
              EXPECT_GE(DeltaAt(charged.sampling_rate, charged.noise_multiplier, epsilon),
                        DeltaAt(rate, z, epsilon) * (1 - 1e-11) - 1e-15)
                  << cohort << " of " << devices << ", " << j << " of " << colluders << ", sigma "
                  << sigma << ", epsilon " << epsilon;
            }
          }
        }
      }
    }
  }
}

TEST(ColludersTest, ACohortFarBelowHalfOfTheFleetIsChargedAtItsOwnRate) {
  Plan plan = FleetPlan(Sampling::kUniform, 0);
  plan.noise_sigma = 0.1;
  for (const int64_t colluders : {0, 1, 5, 20}) {
    plan.colluders = colluders;
    EXPECT_EQ(ComposeReleases(plan, 1, {}).rounds.at(0).sampling_rate, 0.05);
  }
}

TEST(ColludersTest, MoreOfThemNeverCostLess) {
  for (const int64_t cohort : {5, 50, 95}) {
    double last = 0;
    for (const int64_t colluders : {0, 1, 2, 3, 4}) {
      Plan plan = SmallPlan(100, cohort, colluders, 2.0, 10);
      plan.accountant = Accountant("rdp");
      const double epsilon = Account(plan, 10).epsilon();
      EXPECT_GE(epsilon, last);
      last = epsilon;
    }
  }
}

// Pr[Bin(20, 0.3) > 9] leaves out that three of the twenty are known to be in the draw.
TEST(ColludersTest, TheCapOfAPoissonDrawIsThatOfTheOtherDevices) {
  Plan plan = SmallPlan(20, 6, 3, 2.0, 4);
  plan.sampling = Sampling::kPoisson;
  plan.planned_reports = 12;
  double tail = 0;  // Pr[Bin(17, 0.3) > 9]
  double term = std::pow(0.3, 17);
  for (int k = 17; k > 9; --k) {
    tail += term;
    term *= k / (18.0 - k) * 0.7 / 0.3;
  }
  EXPECT_GE(ComposeReleases(plan, 4, {}).deviations.log_cap_excess, std::log(4 * tail) - 1e-9);
  EXPECT_LT(LogBinomialTail(20, 0.3, 12), std::log(tail));
}

TEST(ColludersTest, ACalibratedPoissonPlanHasRoomForThem) {
  for (const int64_t colluders : {0, 1, 20}) {
    Plan plan = FleetPlan(Sampling::kPoisson, 0);
    plan.colluders = colluders;
    const Plan fitted = PlanForEpsilon(plan, 4);
    EXPECT_LE(Account(fitted, 30).epsilon(), 4);
    EXPECT_GT(Account(fitted, 30).epsilon(), 4 * (1 - 1e-5));
    EXPECT_LT(fitted.planned_reports, 140);
  }
}

}  // namespace
}  // namespace sotto::privacy
