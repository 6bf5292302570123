// A statement counts the privacy cost of earlier jobs.
#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "plans/adaptivity.h"
#include "plans/calibration.h"
#include "plans/composition.h"
#include "plans/statement.h"
#include "unit/privacy/figures.h"
#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

Plan NoisyPlan(Sampling sampling) {
  Plan plan = FleetPlan(sampling, 120);
  plan.noise_sigma = 0.2;
  plan.delta = 1e-5;
  return plan;
}

Plan UniformPlan() { return NoisyPlan(Sampling::kUniform); }
Plan PoissonPlan() { return NoisyPlan(Sampling::kPoisson); }

// Another job on the same devices.
Plan OtherPlan(Plan plan) {
  plan.devices = 800;
  plan.cohort = 40;
  plan.planned_reports = plan.sampling == Sampling::kPoisson ? 110 : 40;
  plan.dimension = 650;
  plan.clip_l2 = 1.0;
  plan.noise_sigma = 0.7;
  plan.delta = 1e-3;
  plan.colluders = 2;
  return plan;
}

// The accountant of several jobs (adaptivity.h): RDP at the order that is best for the first plan,
// exact where nothing is sampled.
Accountant FilterOf(const Plan& first) {
  return FilterFor(ComposeReleases(first, first.rounds, {}).rounds, first.delta);
}
Accountant NetworkFilterOf(const Plan& first) {
  return FilterFor(WithDrawsKnown(ComposeReleases(first, first.rounds, {})).rounds, first.delta);
}

Plan ByFilter(Plan plan) {
  plan.accountant = FilterOf(plan);
  return plan;
}

TEST(SpentRoundsTest, RoundsOfTheSamePlanCountAsIfOneJobHadReleasedThem) {
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    const Statement split = Account(plan, 12, {{plan, 11}, {plan, 7}});
    const Statement whole = Account(ByFilter(plan), 30);
    EXPECT_NEAR(split.epsilon(), whole.epsilon(), 1e-4 * whole.epsilon());
    EXPECT_NEAR(NetworkEpsilon(split), NetworkEpsilon(whole), 1e-4 * NetworkEpsilon(whole));
    EXPECT_EQ(split.rounds, 12);
    EXPECT_EQ(split.earlier_rounds, 18);
  }
}

// The filter takes the order of the first job, which knew of no colluders. Here it lies behind the
// bend of a sampled curve, where some percent are lost.
TEST(SpentRoundsTest, WhoeverColludesTodayColludedInEarlierJobs) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    Plan earlier = plan;
    earlier.colluders = 0;
    plan.colluders = 5;
    const Statement mixed = Account(plan, 12, {{earlier, 18}});
    const Statement whole = Account(ByFilter(plan), 30);
    EXPECT_GE(mixed.epsilon(), whole.epsilon() * (1 - 1e-9));
    EXPECT_NEAR(mixed.epsilon(), whole.epsilon(), 0.05 * whole.epsilon());
    EXPECT_NEAR(NetworkEpsilon(mixed), NetworkEpsilon(whole), 0.01 * NetworkEpsilon(whole));
    plan.colluders = 200;  // more than there are noises
    EXPECT_EQ(Account(plan, 0, {{earlier, 1}}).epsilon(), kInf);
  }
}

TEST(SpentRoundsTest, AJobThatHasReleasedNothingStatesWhatWasSpentBefore) {
  const Plan plan = UniformPlan();
  EXPECT_EQ(Account(plan, 0, {{plan, 30}}).epsilon(), Account(plan, 30).epsilon());
  EXPECT_EQ(Account(plan, 0, {{plan, 0}}).epsilon(), 0);
  EXPECT_EQ(Account(plan, 3, {{plan, 0}}).epsilon(), Account(plan, 3).epsilon());
}

// The Renyi curves add up: more than each job alone, less than the sum of the epsilons.
TEST(SpentRoundsTest, DifferentJobsOfOneAdjacencyAreComposedRoundByRound) {
  for (const Plan& plan : {UniformPlan(), PoissonPlan()}) {
    const Plan other = OtherPlan(plan);
    Plan other_at_delta = other;
    other_at_delta.delta = plan.delta;
    const Statement both = Account(plan, 30, {{other, 25}});
    const Statement first = Account(ByFilter(other_at_delta), 25);
    const Statement second = Account(ByFilter(plan), 30);
    EXPECT_GT(both.epsilon(), std::max(first.epsilon(), second.epsilon()));
    EXPECT_LT(both.epsilon(), first.epsilon() + second.epsilon());
    EXPECT_GT(NetworkEpsilon(both), std::max(NetworkEpsilon(first), NetworkEpsilon(second)));
    EXPECT_LT(NetworkEpsilon(both), NetworkEpsilon(first) + NetworkEpsilon(second));
    EXPECT_EQ(both.Headline().adjacency, PairedAdjacency(plan.sampling));
    EXPECT_EQ(both.Headline().delta, plan.delta);
  }
}

TEST(SpentRoundsTest, WithoutCertificatesItIsTheAccountantOfAllRounds) {
  Plan plan = UniformPlan();
  Plan other = OtherPlan(plan);
  plan.certificate = other.certificate = {};
  const double z = plan.AccountedNoiseMultiplier();
  const double w = other.AccountedNoiseMultiplier();
  const Statement both = Account(plan, 30, {{other, 25}});
  EXPECT_NEAR(both.epsilon(),
              AccountFor({{Sampling::kUniform, z, 0.05, 30}, {Sampling::kUniform, w, 0.05, 25}},
                         plan.delta, FilterOf(other))
                  .epsilon,
              1e-9);
  EXPECT_NEAR(NetworkEpsilon(both),
              AccountFor({{Sampling::kNone, z, 1, 30}, {Sampling::kNone, w, 1, 25}}, plan.delta,
                         NetworkFilterOf(other))
                  .epsilon,
              1e-9);
}

// The public does not know the draws: to it a job that says who was drawn costs what it cost. An
// observer of uploads knows them: to it a device is charged for the rounds that drew it.
TEST(SpentRoundsTest, KnownDrawsMakeTheNetworksFigureExactAndLeaveThePublics) {
  const Plan plan = UniformPlan();
  const Statement all = Account(plan, 30, {{plan, 30}});
  for (const int64_t turns : {0, 4, 30, 99}) {
    const Statement drawn = Account(plan, 30, {{plan, 30, 30, turns}});
    EXPECT_EQ(drawn.epsilon(), all.epsilon()) << turns;
    const double counted = static_cast<double>(30 + std::min<int64_t>(turns, 30));
    EXPECT_NEAR(*drawn.Find(Adversary::kNetwork, View::kReleasesAndParticipants)->mu,
                std::sqrt(counted) / plan.AccountedNoiseMultiplier(), 1e-6);
    EXPECT_EQ(NetworkEpsilon(drawn) < NetworkEpsilon(all), turns < 30) << turns;
  }
}

// A job under the other adjacency has secret draws for nobody.
TEST(SpentRoundsTest, AJobUnderTheOtherAdjacencyIsChargedForItsTurns) {
  const Plan plan = UniformPlan();
  const SpentRounds poisson = {PoissonPlan(), 30, 30};
  SpentRounds drawn = poisson;
  drawn.turns = 3;
  EXPECT_LT(Account(plan, 10, {drawn}).epsilon(), Account(plan, 10, {poisson}).epsilon());
  EXPECT_EQ(Account(PoissonPlan(), 10, {drawn}).epsilon(),
            Account(PoissonPlan(), 10, {poisson}).epsilon())
      << "turns are replace-one";
}

// Sensitivity 2C and no amplification for the earlier job, whichever of the two comes first.
TEST(SpentRoundsTest, AJobUnderTheOtherAdjacencyIsChargedUnsampledAtTwiceTheClippingBound) {
  Plan uniform = UniformPlan();
  Plan poisson = OtherPlan(PoissonPlan());
  uniform.certificate = poisson.certificate = {};
  uniform.colluders = poisson.colluders;
  poisson.noise_sigma = 4;
  uniform.noise_sigma = 1.5;
  poisson.planned_reports = poisson.devices;  // no cap, so nothing but the rounds counts
  const auto multiplier = [](const Plan& plan) {
    const auto honest = static_cast<double>(plan.planned_reports - plan.colluders);
    return std::sqrt(honest) * plan.noise_sigma / (2 * plan.clip_l2);
  };
  const double u = multiplier(uniform);
  const double p = multiplier(poisson);
  const Statement under_replace_one = Account(uniform, 30, {{poisson, 10}});
  EXPECT_EQ(under_replace_one.Headline().adjacency, Adjacency::kReplaceOne);
  EXPECT_NEAR(under_replace_one.epsilon(),
              AccountFor({{Sampling::kUniform, u, 0.05, 30}, {Sampling::kNone, p, 1, 10}},
                         uniform.delta, FilterOf(poisson))
                  .epsilon,
              1e-9);
  const Statement under_add_remove = Account(poisson, 10, {{uniform, 30}});
  EXPECT_EQ(under_add_remove.Headline().adjacency, Adjacency::kAddRemove);
  EXPECT_NEAR(under_add_remove.epsilon(),
              AccountFor({{Sampling::kPoisson, 2 * p, 0.05, 10}, {Sampling::kNone, u, 1, 30}},
                         poisson.delta, FilterOf(uniform))
                  .epsilon,
              1e-9);
}

// Under replace-one who is drawn depends on no data, so the earlier draws' cap costs nothing.
TEST(SpentRoundsTest, TheCapOfAnEarlierPoissonJobIsChargedUnderItsOwnAdjacencyOnly) {
  Plan tight = OtherPlan(PoissonPlan());
  tight.planned_reports = 60;
  EXPECT_EQ(Account(PoissonPlan(), 1, {{tight, 30}}).epsilon(), kInf);
  EXPECT_LT(Account(UniformPlan(), 1, {{tight, 30}}).epsilon(), kInf);
}

TEST(SpentRoundsTest, EpsilonNeverFallsWithWhatWasSpent) {
  const Plan plan = UniformPlan();
  const Plan other = OtherPlan(plan);
  double last = 0;
  for (const int64_t rounds : {0, 1, 5, 25, 500}) {
    const double epsilon = Account(plan, 3, {{other, rounds}}).epsilon();
    EXPECT_GT(epsilon, last);
    last = epsilon;
  }
  const double before = Account(plan, 3, {{other, 25}}).epsilon();
  const std::vector<std::function<void(Plan*)>> changes = {
      [](Plan* p) { p->noise_sigma *= 0.9; },     [](Plan* p) { p->clip_l2 *= 1.1; },
      [](Plan* p) { p->colluders += 1; },         [](Plan* p) { p->certificate.eta *= 100; },
      [](Plan* p) { p->certificate.tau *= 1e6; }, [](Plan* p) { p->dimension *= 1000; },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Plan changed = other;
    changes[i](&changed);
    EXPECT_GE(Account(plan, 3, {{changed, 25}}).epsilon(), before) << "change " << i;
  }
}

// The first job's plan decides the order of the filter. The order of the other jobs does not
// matter.
TEST(SpentRoundsTest, TheOrderOfJobsAfterTheFirstDoesNotMatter) {
  const Plan first = UniformPlan();
  const Plan a = OtherPlan(UniformPlan());
  const Plan b = PoissonPlan();
  const Statement one = Account(UniformPlan(), 3, {{first, 1}, {a, 25}, {b, 4}});
  const Statement two = Account(UniformPlan(), 3, {{first, 1}, {b, 4}, {a, 25}});
  EXPECT_EQ(one.epsilon(), two.epsilon());
  EXPECT_EQ(NetworkEpsilon(one), NetworkEpsilon(two));
}

TEST(SpentRoundsTest, AfterAJobWithoutNoiseThereIsNoFiniteEpsilon) {
  Plan bare = UniformPlan();
  bare.noise_sigma = 0;
  const Statement statement = Account(UniformPlan(), 1, {{bare, 1}});
  EXPECT_EQ(statement.epsilon(), kInf);
  EXPECT_EQ(NetworkEpsilon(statement), kInf);
}

TEST(SpentRoundsTest, NoiseIsCalibratedToWhatIsLeftOfTheBudget) {
  for (Plan plan : {UniformPlan(), PoissonPlan()}) {
    const std::vector<SpentRounds> before = {{OtherPlan(plan), 25}};
    const double spent = Account(plan, 0, before).epsilon();
    const Plan fitted = PlanForEpsilon(plan, spent + 1, before);
    const double epsilon = Account(fitted, plan.rounds, before).epsilon();
    EXPECT_LE(epsilon, spent + 1);
    EXPECT_GT(epsilon, (spent + 1) * (1 - 1e-6));
    EXPECT_GT(fitted.noise_sigma, PlanForEpsilon(plan, spent + 1).noise_sigma);
    EXPECT_THROW(PlanForEpsilon(plan, spent * 0.999, before), UnattainableEpsilon);
  }
}

TEST(SpentRoundsTest, BadEarlierJobsThrow) {
  Plan bad = UniformPlan();
  bad.clip_l2 = 0;
  EXPECT_THROW(Account(UniformPlan(), 1, {{bad, 1}}), std::invalid_argument);
  EXPECT_THROW(Account(UniformPlan(), 1, {{UniformPlan(), -1}}), std::invalid_argument);
}

// What a cap adds to delta, worked out anew: the binomial's terms in long double from the largest
// draw down, K rounds of them, times 1 + e^epsilon. One of the thousand devices colludes and is
// drawn.
TEST(SpentRoundsTest, TheCapsCostIsThatOfTheBinomialTail) {
  constexpr int kCap = 97;
  Plan plan = PoissonPlan();
  plan.certificate = {};
  plan.noise_sigma = 0.1;
  plan.planned_reports = kCap;
  const long double q = 0.05L;
  long double term = std::pow(q, 999.0L);
  long double tail = 0;
  for (int k = 999; k > kCap - 1; --k) {
    tail += term;
    term *= k / (1000.0L - k) * (1 - q) / q;
  }
  const Guarantee terms = Account(plan, 30).terms[0];
  const double cost = static_cast<double>((1 + std::exp(terms.epsilon)) * 30 * tail);
  EXPECT_LE(terms.gaussian_delta + cost, plan.delta);
  EXPECT_GT(cost, 0.001 * plan.delta) << "too small to be seen";
  Plan uncapped = plan;
  uncapped.planned_reports = 1000;
  uncapped.noise_sigma *= std::sqrt((kCap - 1) / 999.0);  // the same accounted noise
  uncapped.delta = terms.gaussian_delta;
  EXPECT_NEAR(Account(uncapped, 30).epsilon(), terms.epsilon, 1e-9);
  uncapped.delta = plan.delta - cost;
  EXPECT_NEAR(Account(uncapped, 30).epsilon(), terms.epsilon, 0.02 * terms.epsilon);
}

}  // namespace
}  // namespace sotto::privacy
