// Claims: their names, and the claims of a statement.
#include "plans/claim.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>

#include "fleet_plan.h"
#include "plans/private_noise.h"
#include "plans/statement.h"

namespace sotto::privacy {
namespace {

TEST(ClaimTest, EveryNameIsReadBack) {
  for (const Adversary a : {Adversary::kPublic, Adversary::kNetwork, Adversary::kServer}) {
    EXPECT_EQ(AdversaryByName(Name(a)), a);
  }
  for (const View v : {View::kReleases, View::kReleasesAndParticipants, View::kEveryUpdate,
                       View::kOneUpdate, View::kPublications}) {
    EXPECT_EQ(ViewByName(Name(v)), v);
  }
  for (int i = 0; i <= static_cast<int>(Assumption::kNoiseIsIdeal); ++i) {
    const Assumption assumption = static_cast<Assumption>(i);
    EXPECT_EQ(AssumptionByName(Name(assumption)), assumption);
    EXPECT_EQ(std::string(Text(assumption)).back(), '.') << Name(assumption);
  }
  for (const Adjacency a : {Adjacency::kAddRemove, Adjacency::kReplaceOne}) {
    EXPECT_EQ(AdjacencyByName(Name(a)), a);
  }
  for (const Sampling s : {Sampling::kUniform, Sampling::kPoisson, Sampling::kNone, Sampling::kFull,
                           Sampling::kPasses}) {
    EXPECT_EQ(SamplingByName(Name(s)), s);
  }
  for (const Order o : {Order::kConnected, Order::kFixed}) EXPECT_EQ(OrderByName(Name(o)), o);
  for (const Unit u : {Unit::kDevice, Unit::kSample}) EXPECT_EQ(UnitByName(Name(u)), u);
  for (const TrustMode t : {TrustMode::kTrustedServer, TrustMode::kPrivateNoise}) {
    EXPECT_EQ(TrustModeByName(Name(t)), t);
  }
}

TEST(ClaimTest, AnUnknownNameIsRefusedWithTheKnownOnes) {
  try {
    AdversaryByName("martian");
    FAIL();
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "adversary is martian; it must be one of public, network, server, watcher");
  }
  EXPECT_THROW(ViewByName(""), std::invalid_argument);
  EXPECT_THROW(AssumptionByName("none"), std::invalid_argument);
  EXPECT_THROW(AdjacencyByName("replace"), std::invalid_argument);
  EXPECT_THROW(SamplingByName("all"), std::invalid_argument);
  EXPECT_THROW(UnitByName("person"), std::invalid_argument);
  EXPECT_THROW(TrustModeByName("none"), std::invalid_argument);
}

TEST(ClaimTest, AssumptionsStayInOrderAndOnce) {
  Claim claim;
  for (const Assumption a : {Assumption::kNoiseIsIdeal, Assumption::kServerFollowsProtocol,
                             Assumption::kTimesTellNothing, Assumption::kNoiseIsIdeal}) {
    Assume(a, &claim);
  }
  EXPECT_EQ(claim.assumptions,
            (std::vector<Assumption>{Assumption::kServerFollowsProtocol,
                                     Assumption::kTimesTellNothing, Assumption::kNoiseIsIdeal}));
}

TEST(ClaimTest, AnAccountClaimsItsFigures) {
  Plan plan = FleetPlan(Sampling::kPoisson, 90);
  plan.noise_sigma = 0.2;
  plan.private_noise_multiplier = 1.5;
  plan.colluders = 3;
  const Statement statement = Account(plan, 5);
  ASSERT_EQ(statement.claims.size(), 5U);
  for (const Claim& claim : statement.claims) {
    EXPECT_EQ(claim.unit, Unit::kDevice);
    EXPECT_EQ(claim.colluders, 3);
    EXPECT_EQ(claim.trust_mode, TrustMode::kPrivateNoise);
    EXPECT_EQ(claim.delta, plan.delta);
    EXPECT_EQ(claim.sensitivity, SensitivityFactor(claim.adjacency));
    EXPECT_FALSE(claim.assumptions.empty());
    EXPECT_FALSE(claim.accountant.empty());
  }
  EXPECT_EQ(statement.claims[0].adjacency, Adjacency::kAddRemove);
  EXPECT_EQ(statement.claims[1].adjacency, Adjacency::kAddRemove);
  EXPECT_EQ(statement.claims[2].adjacency, Adjacency::kAddRemove);
  EXPECT_EQ(statement.claims[3].adjacency, Adjacency::kReplaceOne);
  EXPECT_EQ(statement.claims[4].adjacency, Adjacency::kReplaceOne);
  EXPECT_LT(statement.claims[0].epsilon, statement.claims[2].epsilon);
  EXPECT_LT(statement.claims[2].epsilon, statement.claims[1].epsilon);
  EXPECT_GT(statement.claims[3].epsilon, statement.claims[4].epsilon);
  EXPECT_EQ(statement.claims[3].epsilon, GuaranteeAgainstServer(plan, 5).epsilon);
}

TEST(ClaimTest, ATrustedServerHasNoClaimAgainstIt) {
  Plan plan = FleetPlan(Sampling::kUniform, 0);
  plan.noise_sigma = 0.2;
  for (const Claim& claim : Account(plan, 5).claims) {
    EXPECT_NE(claim.adversary, Adversary::kServer);
  }
  EXPECT_EQ(Account(plan, 0).claims.size(), 3U);
  EXPECT_EQ(Account(plan, 0).claims[0].epsilon, 0.0);
}

// Little noise in the sum, much on each device: the server sees more, and its figure is smaller.
Plan PrivateNoisePlan(Sampling sampling) {
  Plan plan = FleetPlan(sampling, 80);
  plan.delta = 1e-5;
  plan.rounds = 4;
  plan.noise_sigma = SigmaForNoiseMultiplier(plan, 0.3);
  plan.private_noise_multiplier = 4;
  return plan;
}

TEST(ClaimTest, NobodyHasALargerFigureThanWhoSeesMoreUnderTheSameAdjacency) {
  const Plan plan = PrivateNoisePlan(Sampling::kUniform);
  const Statement statement = Account(plan, plan.rounds);
  const double server = statement.EpsilonOf(Adversary::kServer, View::kEveryUpdate);
  EXPECT_GT(statement.epsilon_of_releases(), 2 * server);
  EXPECT_EQ(HeadlineEpsilon(plan, plan.rounds), statement.epsilon_of_releases());
  for (const Claim& claim : statement.claims) {
    if (claim.adversary == Adversary::kServer) continue;
    EXPECT_EQ(claim.epsilon, server) << Name(claim.adversary);
    const auto rests_on = [&](Assumption assumption) {
      return std::count(claim.assumptions.begin(), claim.assumptions.end(), assumption) == 1;
    };
    EXPECT_TRUE(rests_on(Assumption::kPrivateNoiseIsSecret)) << Name(claim.adversary);
    EXPECT_TRUE(rests_on(Assumption::kServerFollowsProtocol)) << Name(claim.adversary);
    EXPECT_EQ(rests_on(Assumption::kTimesTellNothing), false) << "a public view has no times";
  }
}

TEST(ClaimTest, AnAttemptThatReleasesNothingLiftsAFigureThatRestsOnTheServersUpToItsOwn) {
  const Plan plan = PrivateNoisePlan(Sampling::kUniform);
  Statement statement = Account(plan, plan.rounds);
  const double own = statement.epsilon_of_releases();
  double last = statement.epsilon();
  for (const int64_t attempts : {5, 20, 5000}) {
    RestateUpdates(plan, attempts, {}, &statement);
    EXPECT_GT(statement.epsilon(), last) << attempts;
    EXPECT_LE(statement.epsilon(), own);
    last = statement.epsilon();
  }
  EXPECT_EQ(last, own);
  EXPECT_EQ(statement.epsilon_of_releases(), own);
}

// Sampling amplifies less at a small delta, so the server's figure covers that pair alone.
TEST(ClaimTest, AClaimHasTheAssumptionsOfEachOfItsPairs) {
  Plan plan = PrivateNoisePlan(Sampling::kUniform);
  plan.delta = 1e-2;
  plan.noise_sigma = SigmaForNoiseMultiplier(plan, 0.6);
  plan.private_noise_multiplier = 2.5;
  Statement statement = Account(plan, plan.rounds);
  EXPECT_EQ(statement.epsilon(), statement.epsilon_of_releases());
  const auto rests_on_server = [&] {
    const std::vector<Assumption> all = statement.Headline().assumptions;
    return std::count(all.begin(), all.end(), Assumption::kPrivateNoiseIsSecret) == 1;
  };
  EXPECT_FALSE(rests_on_server());
  AddPairs(plan, plan.rounds, plan.rounds, {}, &statement);
  ASSERT_EQ(statement.Headline().pairs.size(), 2U);
  EXPECT_TRUE(rests_on_server());
}

// Add/remove is another adjacency than the server's replace-one.
TEST(ClaimTest, FiguresOfOtherAdjacenciesCoverNothing) {
  const Plan plan = PrivateNoisePlan(Sampling::kPoisson);
  const Statement statement = Account(plan, plan.rounds);
  EXPECT_EQ(statement.epsilon(), statement.epsilon_of_releases());
  EXPECT_GT(statement.epsilon(), statement.EpsilonOf(Adversary::kServer, View::kEveryUpdate));
}

}  // namespace
}  // namespace sotto::privacy
