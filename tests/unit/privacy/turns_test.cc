// Passes: figures against known values, limits that no path exceeds, adversaries that choose.
#include "plans/turns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <vector>

#include "accounting/gdp.h"
#include "plans/calibration.h"
#include "plans/composition.h"
#include "plans/private_noise.h"
#include "plans/statement.h"
#include "unit/privacy/figures.h"
#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

constexpr double kTurnsDelta = 1e-5;

// 40 rounds of 100 of 1,000 devices, four turns for each, with the noise of epsilon 6.
Plan PassesPlan() {
  Plan plan = FleetPlan(Sampling::kPasses, 0);
  plan.cohort = plan.planned_reports = 100;
  plan.rounds = 40;
  plan.participations = 4;
  plan.delta = kTurnsDelta;
  plan.noise_sigma = SigmaForNoiseMultiplier(plan, 1.5351);
  return plan;
}

Plan Decaying(double decay) {
  Plan plan = PassesPlan();
  plan.schedule.noise_decay = decay;
  plan.participations = 2;
  plan.certificate = {};
  plan.noise_sigma = Calibrate(plan, 6.0);
  return plan;
}

double LimitEpsilon(const Plan& plan) { return Account(plan, plan.rounds).epsilon(); }

bool Assumes(const Claim& claim, Assumption assumption) {
  return std::count(claim.assumptions.begin(), claim.assumptions.end(), assumption) == 1;
}

TEST(TurnsTest, ClosedFormAndInverseHaveTheKnownValues) {
  struct Row {
    double epsilon, mu, zero_out;
  };
  for (const Row& row : {Row{1, 0.268, 0.469}, Row{2, 0.502, 0.929}, Row{3, 0.719, 1.382},
                         Row{6, 1.310, 2.698}, Row{8, 1.666, 3.547}}) {
    const double mu = GdpMu(row.epsilon, kTurnsDelta);
    EXPECT_NEAR(mu, row.mu, 6e-4);
    EXPECT_NEAR(GdpEpsilon(mu / 2, kTurnsDelta), row.zero_out, 6e-4);
  }
  const double mu = GdpMu(6, kTurnsDelta);
  EXPECT_NEAR(GdpEpsilon(std::sqrt(2) * mu, kTurnsDelta), 9.10, 6e-3) << "a second such job";
  EXPECT_NEAR(GdpEpsilon(OwnerMu(mu, 2, false), kTurnsDelta), 9.10, 6e-3);
  EXPECT_NEAR(GdpEpsilon(OwnerMu(mu, 2, true), kTurnsDelta), 14.0, 0.05);
  EXPECT_NEAR(GdpAttackerRight(mu), 0.744, 6e-4);
}

TEST(TurnsTest, TheInverseIsTheLargestMu) {
  for (const double epsilon : {1e-3, 0.1, 1.0, 6.0, 50.0, 700.0}) {
    for (const double delta : {1e-12, 1e-5, 0.1, 0.9}) {
      const double mu = GdpMu(epsilon, delta);
      EXPECT_LE(GdpEpsilon(mu, delta), epsilon * (1 + 1e-11)) << epsilon << ", " << delta;
      EXPECT_GT(GdpEpsilon(mu * (1 + 1e-9), delta), epsilon) << epsilon << ", " << delta;
    }
  }
  EXPECT_THROW(GdpMu(0, 0.1), std::invalid_argument);
  EXPECT_THROW(GdpMu(kInf, 0.1), std::invalid_argument);
  EXPECT_THROW(GdpMu(1, 1), std::invalid_argument);
}

TEST(TurnsTest, OneFigureForModelsAndNetworkOfTurnsAlone) {
  Plan plan = PassesPlan();
  plan.certificate = {};
  const double mu = std::sqrt(4) / plan.AccountedNoiseMultiplier();
  const Statement statement = Account(plan, plan.rounds);
  ExpectRelative(statement.epsilon(), GdpEpsilon(mu, kTurnsDelta), 1e-9);
  EXPECT_EQ(NetworkEpsilon(statement), statement.epsilon());
  EXPECT_EQ(Account(plan, 1).epsilon(), statement.epsilon()) << "the figure is the limit";
  EXPECT_EQ(Account(plan, 0).epsilon(), 0);
  plan.devices = 100'000;
  plan.rounds = 4000;
  EXPECT_EQ(LimitEpsilon(plan), statement.epsilon());
  plan.participations = 5;
  EXPECT_GT(LimitEpsilon(plan), statement.epsilon());
}

TEST(TurnsTest, EachClaimCarriesItsFiguresAndItsConditions) {
  const Plan plan = PassesPlan();
  const Statement statement = Account(plan, 10);
  ASSERT_EQ(statement.claims.size(), 2u);
  for (const Claim& claim : statement.claims) {
    EXPECT_NEAR(claim.epsilon, 6, 0.06);
    ASSERT_TRUE(claim.mu && claim.attacker_right && claim.zero_out_epsilon);
    EXPECT_NEAR(*claim.mu, 1.31, 0.01);
    EXPECT_NEAR(*claim.attacker_right, 0.744, 2e-3);
    EXPECT_GE(*claim.attacker_right, GdpAttackerRight(*claim.mu));
    EXPECT_NEAR(*claim.zero_out_epsilon, 2.70, 0.04);
    EXPECT_EQ(claim.participations, 4);
    EXPECT_EQ(claim.adjacency, Adjacency::kReplaceOne);
    EXPECT_EQ(claim.unit, Unit::kDevice);
    EXPECT_TRUE(Assumes(claim, Assumption::kServerFollowsProtocol));
    EXPECT_TRUE(Assumes(claim, Assumption::kAvailabilityIndependentOfOwnData));
    EXPECT_TRUE(Assumes(claim, Assumption::kOthersReportIndependently));
    EXPECT_FALSE(Assumes(claim, Assumption::kParticipationIsSecret));
    EXPECT_FALSE(Assumes(claim, Assumption::kStopFixedBeforehand));
    EXPECT_TRUE(std::is_sorted(claim.assumptions.begin(), claim.assumptions.end()));
  }
}

TEST(TurnsTest, TimesAndOrderChangeWhatIsAssumedAndNoFigure) {
  Plan plan = PassesPlan();
  const Claim deadlines = Account(plan, 40).Headline();
  EXPECT_FALSE(Assumes(deadlines, Assumption::kTimesTellNothing));
  plan.participants_known = true;
  const Claim early = Account(plan, 40).Headline();
  EXPECT_TRUE(Assumes(early, Assumption::kTimesTellNothing));
  EXPECT_EQ(early.epsilon, deadlines.epsilon);
  plan.timed_reports = true;
  EXPECT_FALSE(Assumes(Account(plan, 40).Headline(), Assumption::kTimesTellNothing));
  plan.order = Order::kFixed;
  EXPECT_THROW(Account(plan, 40), std::invalid_argument) << "it needs deadlines";
  plan.participants_known = false;
  const Statement fixed = Account(plan, 40);
  EXPECT_FALSE(Assumes(fixed.claims[0], Assumption::kAvailabilityIndependentOfOwnData));
  EXPECT_TRUE(Assumes(fixed.claims[0], Assumption::kOthersReportIndependently));
  EXPECT_TRUE(Assumes(fixed.claims[1], Assumption::kAvailabilityIndependentOfOwnData));
}

TEST(TurnsTest, TheEncoderIsChargedForTurnsNotForRounds) {
  Plan plan = PassesPlan();
  const Composition composition = ComposeReleases(plan, 40, {});
  EXPECT_EQ(composition.deviations.coordinates, 7850.0 * 100 * 4);
  EXPECT_EQ(LimitOf(plan).coordinates, 7850.0 * 100 * 4);
  plan.rounds = 2;  // fewer than the turns
  EXPECT_EQ(ComposeReleases(plan, 2, {}).deviations.coordinates, 7850.0 * 100 * 2);
  plan.private_noise_multiplier = 2;
  EXPECT_NEAR(ComposeReleases(plan, 2, {}).deviations.log_refusal, -126 * std::log(2.0), 1e-12);
}

TEST(TurnsTest, TheExtraCoordinatesOfAnUpdateAreInEachTurn) {
  const Plan plan = PassesPlan();
  const Plan with_extras = WithExtras(plan, 0.05, 0.05);
  ExpectRelative(TurnIn(with_extras, 0).mu_squared, TurnIn(plan, 0).mu_squared, 1e-12);
  Plan loud = with_extras;
  loud.noise_sigma = plan.noise_sigma;
  ExpectRelative(TurnIn(loud, 0).mu_squared, TurnIn(plan, 0).mu_squared / 0.9, 1e-12);
}

TEST(TurnsTest, RoundsThatDifferAreChargedByTheCostliest) {
  const Plan plan = Decaying(0.9);
  double sum = 0;
  for (const int64_t round : {38, 39}) sum += TurnIn(plan, round).mu_squared;
  ExpectRelative(LimitOf(plan).mu_squared, sum, 1e-12);
  ExpectRelative(LimitEpsilon(plan), GdpEpsilon(std::sqrt(sum), kTurnsDelta), 1e-9);
  EXPECT_NEAR(LimitEpsilon(plan), 6, 1e-6);
}

TEST(TurnsTest, AddedRoundsKeepTheLimitOnlyBySumsOfMu) {
  Plan plan = Decaying(0.9);
  const Turns limit = LimitOf(plan);
  plan.rounds = 50;
  EXPECT_NEAR(LimitEpsilon(plan), 8.22, 0.01) << "a new promise, of two turns whatever they cost";
  plan.limit_rounds = 40;
  EXPECT_NEAR(LimitEpsilon(plan), 6, 1e-6);
  EXPECT_EQ(LimitOf(plan).mu_squared, limit.mu_squared);
  const Turns late = TurnIn(plan, 49);
  EXPECT_FALSE(HasRoom(late, late, limit)) << "two turns, and too many";
  EXPECT_TRUE(HasRoom(TurnIn(plan, 0), late, limit));
}

// Random jobs, and a server that asks a device whenever the limit allows it.
TEST(TurnsTest, NoPathExceedsTheLimit) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 300; ++trial) {
    Plan plan = PassesPlan();
    plan.participations = 1 + static_cast<int64_t>(random() % 6);
    const double share = static_cast<double>(random() % 1000) / 1000;
    plan.schedule.noise_decay = trial % 3 == 0 ? 1.0 : 0.97 + 0.03 * share;
    plan.limit_rounds = 10 + static_cast<int64_t>(random() % 31);
    const Turns limit = LimitOf(plan);
    Turns used;
    for (int64_t round = 0; round < plan.rounds; ++round) {
      const Turns turn = TurnIn(plan, round);
      if (random() % 3 == 0 || !HasRoom(used, turn, limit)) continue;
      used = used + turn;
    }
    EXPECT_LE(used.count, plan.participations);
    EXPECT_LE(used.mu_squared, limit.mu_squared * (1 + 1e-11));
    EXPECT_LE(GuaranteeOf(used, kTurnsDelta, plan.certificate).epsilon,
              GuaranteeOf(limit, kTurnsDelta, plan.certificate).epsilon * (1 + 1e-9));
    // A plan knows how far a device moves one noise, which its turns do not say.
    EXPECT_LE(LimitEpsilon(plan), GuaranteeOf(limit, kTurnsDelta, plan.certificate).epsilon);
  }
}

TEST(TurnsTest, EqualTurnsFillTheirLimitToTheLast) {
  for (const int64_t turns : {1, 3, 7, 1000}) {
    Plan plan = PassesPlan();
    plan.rounds = 5000;
    plan.participations = turns;
    const Turns turn = TurnIn(plan, 0);
    Turns used;
    for (int64_t i = 0; i < turns; ++i) {
      ASSERT_TRUE(HasRoom(used, turn, LimitOf(plan))) << i << " of " << turns;
      used = used + turn;
    }
    EXPECT_FALSE(HasRoom(used, turn, LimitOf(plan)));
  }
}

TEST(TurnsTest, JobsOfOneStoreAddUpByWhoWasReallyDrawn) {
  const Plan plan = PassesPlan();
  const double mu = *Account(plan, 40).Headline().mu;
  ExpectRelative(*Account(plan, 40, {{plan, 40, 40}}).Headline().mu, std::sqrt(2) * mu, 1e-9);
  Plan uniform = FleetPlan(Sampling::kUniform, 0);
  uniform.noise_sigma = SigmaForNoiseMultiplier(uniform, 0.5725);
  EXPECT_NEAR(std::sqrt(TurnIn(uniform, 0).mu_squared), 1.76, 6e-3);
  SpentRounds drawn = {uniform, 30, 30};
  for (const int64_t turns : {0, 1, 3}) {
    drawn.turns = turns;
    const Statement both = Account(plan, 40, {drawn});
    const double squares = mu * mu + static_cast<double>(turns) * TurnIn(uniform, 0).mu_squared;
    ExpectRelative(*both.Headline().mu, std::sqrt(squares), 1e-9);
    EXPECT_EQ(both.Headline().participations, 4 + turns) << "of both jobs, as its epsilon";
    EXPECT_EQ(both.Headline().accountant, "gaussian") << "exact, also where jobs were chosen";
    EXPECT_TRUE(Assumes(both.Headline(), Assumption::kStopFixedBeforehand));
    EXPECT_FALSE(Assumes(both.Headline(), Assumption::kParticipationIsSecret));
    EXPECT_EQ(ComposeReleases(plan, 40, {drawn}).deviations.coordinates,
              7850.0 * (100.0 * 4 + 50.0 * static_cast<double>(turns)));
  }
  drawn.turns.reset();
  const double all = mu * mu + 30 * TurnIn(uniform, 0).mu_squared;
  ExpectRelative(*Account(plan, 40, {drawn}).Headline().mu, std::sqrt(all), 1e-9);
}

TEST(TurnsTest, AgainstTheServerADeviceIsChargedForItsLimit) {
  Plan plan = PassesPlan();
  plan.private_noise_multiplier = 2;
  const double four = GuaranteeAgainstServer(plan, 4).epsilon;
  Statement statement = Account(plan, 40);
  EXPECT_EQ(ServerEpsilon(statement), four);
  RestateUpdates(plan, 90, {}, &statement);
  EXPECT_EQ(ServerEpsilon(statement), four);
  EXPECT_EQ(ServerUpdateEpsilon(statement), GuaranteeAgainstServer(plan, 1).epsilon);
}

TEST(TurnsTest, ALifeLimitCoversEveryStoreWithinIt) {
  const CertificateBounds certificate = {6e-9, 3e-22, 9.7};
  const Turns limit = LifeLimit(6, kTurnsDelta, certificate);
  EXPECT_LE(GuaranteeOf(limit, kTurnsDelta, certificate).epsilon, 6);
  EXPECT_GT(std::sqrt(limit.mu_squared), 0.98 * GdpMu(6, kTurnsDelta));
  EXPECT_GT(limit.coordinates, 1000 * 7850.0 * 100) << "a thousand turns of a small net";
  const Turns turn = {1, limit.mu_squared / 2, 7850.0 * 100};
  EXPECT_TRUE(HasRoom(turn, turn, limit));
  EXPECT_FALSE(HasRoom(turn + turn, turn, limit));
  EXPECT_FALSE(HasRoom({}, {1, 0.0, 2 * limit.coordinates}, limit));
  EXPECT_TRUE(HasRoom({}, {1, 0.0, 0.0, limit.too_long}, limit));
  EXPECT_FALSE(HasRoom({}, {1, 0.0, 0.0, 2 * limit.too_long}, limit));
  EXPECT_EQ(GuaranteeOf({}, kTurnsDelta, certificate).epsilon, 0);
}

TEST(TurnsTest, ALargeModelDoesNotSpoilHowOftenAnAttackerIsRight) {
  Deviations deviations;
  deviations.certificate = {6e-9, 3e-22, 9.7};
  deviations.coordinates = 16e6 * 100 * 4;
  const double mu = GdpMu(6, kTurnsDelta);
  EXPECT_GT(AttackerRight(mu, deviations), GdpAttackerRight(mu));
  EXPECT_LT(AttackerRight(mu, deviations), GdpAttackerRight(mu) + 1e-3);
  EXPECT_NEAR(AttackerRight(6.0, 5e-4), 0.9975, 1e-4);
  EXPECT_EQ(AttackerRight(kInf, 0.0), 1.0);
  EXPECT_NEAR(AttackerRight(0.0, 0.2), 0.6, 1e-10);
}

TEST(TurnsTest, TheArithmeticOfAFleet) {
  EXPECT_EQ(ParticipationsFor(40, 100, 1000), 4);
  EXPECT_EQ(ParticipationsFor(41, 100, 1000), 5);
  EXPECT_EQ(ParticipationsFor(1, 1, 1000), 1);
  EXPECT_EQ(RoundsFor(4, 100, 1000), 40);
  EXPECT_EQ(RoundsFor(1, 4, 7), 1);
  EXPECT_EQ(DefaultCohort(1), 1);
  EXPECT_EQ(DefaultCohort(7), 4);
  EXPECT_EQ(DefaultCohort(1000), 100);
  EXPECT_EQ(DefaultDelta(4), 1e-5);
  EXPECT_EQ(DefaultDelta(10'000), 1e-5);
  EXPECT_NEAR(DefaultDelta(1'000'000), 1e-7, 1e-20);
  const double mu = GdpMu(6, kTurnsDelta);
  EXPECT_NEAR(SignalToNoise(mu, 1000, 50, 7850), 1.65, 6e-3);
  EXPECT_NEAR(SignalToNoise(mu, 6, 3, 7850), 0.03, 2e-3);
  EXPECT_NEAR(DevicesTimesCohortFor(1, mu, 7850), 18'300, 100);
  EXPECT_THROW(ParticipationsFor(0, 1, 1), std::invalid_argument);
  EXPECT_THROW(RoundsFor(1, 2, 1), std::invalid_argument);
  EXPECT_THROW(DefaultDelta(0), std::invalid_argument);
}

TEST(TurnsTest, PlansRefuseWhatIsNotOfTheirSampling) {
  const std::vector<std::function<void(Plan*)>> mistakes = {
      [](Plan* p) { p->participations = 0; },
      [](Plan* p) { p->limit_rounds = 41; },
      [](Plan* p) { p->cohort = p->planned_reports = 1001; },
      [](Plan* p) { p->sampling = Sampling::kUniform; },
      [](Plan* p) {
        p->sampling = Sampling::kUniform;
        p->participations = 0;
        p->order = Order::kFixed;
      },
  };
  for (size_t i = 0; i < mistakes.size(); ++i) {
    Plan plan = PassesPlan();
    mistakes[i](&plan);
    EXPECT_THROW(plan.Validate(), std::invalid_argument) << i;
  }
  EXPECT_THROW(LimitOf(FleetPlan(Sampling::kUniform, 0)), std::invalid_argument);
}

// An adversary that sees each release before it chooses the next one. It names the deviation of the
// noise and the direction in which the device's update points, in two coordinates, and whether the
// device is asked; nothing else bounds it than the limit. Its best test is the likelihood ratio, so
// delta(epsilon) is the mean of 1 - e^(epsilon - L) where L > epsilon, with L the log of the ratio
// of the device's world to the other one.
struct Seen {
  double log_ratio = 0.0;
  double left = 0.0;  // of the limit
  double last[2] = {0.0, 0.0};
  int releases = 0;
};

struct Choice {
  bool is_asked = true;
  double share = 0.0;  // of the limit, that this release may cost
  double angle = 0.0;
};

using Chooser = std::function<Choice(const Seen&)>;

// 100,000 runs of 20 releases. A mean of numbers in [0, 1] is off by kOff with a probability below
// 1e-8 (Hoeffding: exp(-2 n kOff^2)). A filter that let the adversaries spend half as much again
// would be off by 0.1.
constexpr int kRuns = 100'000;
constexpr double kOff = 0.0097;

double DeltaAgainst(const Chooser& adversary, double mu, double epsilon, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  double sum = 0;
  for (int run = 0; run < kRuns; ++run) {
    Seen view;
    view.left = mu * mu;
    for (; view.releases < 20; ++view.releases) {
      const Choice choice = adversary(view);
      const double cost = std::min(choice.share * mu * mu, view.left);
      const bool is_asked = choice.is_asked && cost > 0;
      const double deviation = is_asked ? 1 / std::sqrt(cost) : 1.0;  // of a change of norm 1
      const double change[2] = {is_asked ? std::cos(choice.angle) : 0,
                                is_asked ? std::sin(choice.angle) : 0};
      double along = 0;
      for (int j = 0; j < 2; ++j) {
        view.last[j] = change[j] + deviation * normal(random);
        along += change[j] * view.last[j];
      }
      if (!is_asked) continue;
      view.log_ratio += (along - 0.5) * cost;
      view.left -= cost;
    }
    sum += std::max(0.0, -std::expm1(epsilon - view.log_ratio));
  }
  return sum / kRuns;
}

TEST(TurnsTest, NoAdversaryThatChoosesByTheReleasesDoesBetterThanTheClosedForm) {
  const double mu = GdpMu(6, kTurnsDelta);
  const double epsilon = 0.5;
  const double closed_form = GdpDelta(mu, epsilon);
  const Chooser even = [](const Seen&) { return Choice{true, 0.05, 0.3}; };
  EXPECT_NEAR(DeltaAgainst(even, mu, epsilon, 1), closed_form, kOff) << "nothing is lost";
  const std::vector<Chooser> adversaries = {
      [](const Seen& v) {
        return Choice{v.log_ratio >= 0.0, 0.2, v.last[0]};
      },  // while it pays
      [](const Seen& v) {
        return Choice{v.log_ratio < 0.5, 0.1, v.last[1]};
      },  // until it is sure
      [](const Seen& v) {
        return Choice{true, v.last[0] > 0 ? 0.5 : 0.02, 1.0};
      },
      [](const Seen& v) {  // all on one release, when chance is kind
        return Choice{v.last[0] + v.last[1] > 1 || v.releases == 19, 1.0, v.last[0]};
      },
      [](const Seen& v) {
        return Choice{v.releases % 2 == 0, std::exp(-v.log_ratio), 2.0};
      },
  };
  for (size_t i = 0; i < adversaries.size(); ++i) {
    EXPECT_LE(DeltaAgainst(adversaries[i], mu, epsilon, 2 + static_cast<unsigned>(i)),
              closed_form + kOff)
        << i;
  }
}

}  // namespace
}  // namespace sotto::privacy
