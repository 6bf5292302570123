// Choices that depend on released models: later jobs, and the moment to stop.
#include "plans/adaptivity.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <vector>

#include "plans/composition.h"
#include "plans/statement.h"
#include "unit/privacy/fleet_plan.h"

namespace sotto::privacy {
namespace {

Plan NoisyPlan() {
  Plan plan = FleetPlan(Sampling::kUniform, 0);
  plan.noise_sigma = 0.2;
  plan.delta = 1e-5;
  plan.certificate = {};
  return plan;
}

Plan Private(Plan plan, double z) {
  plan.private_noise_multiplier = z;
  return plan;
}

bool AssumesTheStop(const Claim& claim) {
  return std::count(claim.assumptions.begin(), claim.assumptions.end(),
                    Assumption::kStopFixedBeforehand) == 1;
}

TEST(AdaptivityTest, OnePlanMayUseTheBestAccountant) {
  const Statement whole = Account(NoisyPlan(), 30);
  EXPECT_EQ(whole.Headline().accountant, "pld");
  for (const Claim& claim : whole.claims) EXPECT_FALSE(AssumesTheStop(claim));
}

TEST(AdaptivityTest, APartOfAPlanRestsOnAStopThatWasFixed) {
  const Statement part = Account(Private(NoisyPlan(), 20), 29);
  EXPECT_EQ(part.Headline().accountant, "pld");
  for (const Claim& claim : part.claims) {
    EXPECT_EQ(AssumesTheStop(claim), claim.view != View::kOneUpdate) << Name(claim.view);
  }
  EXPECT_FALSE(AssumesTheStop(Account(NoisyPlan(), 0).Headline()));
}

TEST(AdaptivityTest, SeveralJobsComposeUnderAFilterAlone) {
  for (const char* accountant : {"best", "pld", "rdp"}) {
    Plan plan = Private(NoisyPlan(), 1);
    plan.accountant = Accountant(accountant);
    const Statement both = Account(plan, 30, {{plan, 30, 30}});
    for (const Claim& claim : both.claims) {
      if (claim.view == View::kOneUpdate) continue;
      const bool is_exact = claim.adversary == Adversary::kNetwork;  // nothing is sampled
      EXPECT_EQ(claim.accountant, is_exact ? "gaussian" : "rdp-filter") << Name(claim.view);
      EXPECT_TRUE(AssumesTheStop(claim));
    }
  }
}

// No choice in a later job moves the order: it follows from the first job's plan alone.
TEST(AdaptivityTest, TheOrderIsThatOfTheFirstPlan) {
  const Plan first = NoisyPlan();
  const double order = BestFilterOrder(ComposeReleases(first, 30, {}).rounds, first.delta);
  for (const double factor : {0.3, 1.0, 20.0}) {
    for (const int64_t rounds : {1, 30}) {
      Plan later = first;
      later.noise_sigma *= factor;
      later.cohort = later.planned_reports = 20;
      later.colluders = 3;
      later.delta = 1e-4;
      const Statement both = Account(later, rounds, {{first, 12}, {later, 5}});
      EXPECT_EQ(both.terms[0].gaussian.order, order);
    }
  }
}

TEST(AdaptivityTest, AFilterIsTheCurveAtItsOrder) {
  const std::vector<GaussianRounds> rounds = {{Sampling::kPoisson, 1.0, 0.05, 40},
                                              {Sampling::kNone, 9.0, 1.0, 2}};
  for (const double order : {1.5, 6.0, 20.0}) {
    const AccountedEpsilon filtered = AccountFor(rounds, 1e-5, Accountant::RdpFilter(order));
    EXPECT_EQ(filtered.epsilon, EpsilonAtOrders(rounds, 1e-5, {order}).Guarantee());
    EXPECT_GE(filtered.epsilon, AccountFor(rounds, 1e-5, Accountant("rdp")).epsilon);
    EXPECT_EQ(filtered.order, order);
    EXPECT_STREQ(filtered.winner, "rdp-filter");
  }
  EXPECT_TRUE(Accountant::RdpFilter(2).StatesGuarantees());
  EXPECT_NE(Accountant::RdpFilter(2), Accountant("rdp"));
  EXPECT_EQ(AccountFor({}, 1e-5, Accountant::RdpFilter(2)).epsilon, 0);
  EXPECT_THROW(Accountant::RdpFilter(1), std::invalid_argument);
}

// Attempts of an earlier job that released nothing are seen by the server, and by nobody else.
TEST(AdaptivityTest, AJobThatReleasedNothingIsAdaptiveAgainstTheServerOnly) {
  const Plan plan = Private(NoisyPlan(), 20);
  const Statement statement = Account(plan, 30, {{plan, 0, 10}});
  EXPECT_EQ(statement.Headline().accountant, "pld");
  EXPECT_EQ(statement.Find(Adversary::kServer, View::kEveryUpdate)->accountant, "rdp-filter");
  EXPECT_TRUE(AssumesTheStop(statement.Headline())) << "an earlier job was stopped";
}

}  // namespace
}  // namespace sotto::privacy
