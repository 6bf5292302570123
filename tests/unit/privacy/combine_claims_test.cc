// CombineClaims(): the claims of several jobs as one figure.
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>

#include "plans/claim.h"
#include "unit/privacy/figures.h"

namespace sotto::privacy {
namespace {

// Of random epsilon, delta, accountant and assumptions, with every other member as constructed.
Claim RandomClaim(std::mt19937* random) {
  std::uniform_real_distribution<double> uniform(0.0, 10.0);
  Claim claim;
  claim.epsilon = (*random)() % 8 == 0 ? kInf : uniform(*random);
  claim.delta = uniform(*random) / 1000;
  claim.accountant = std::vector<std::string>{"pld", "rdp", "gaussian"}[(*random)() % 3];
  for (int i = 0; i < 3; ++i) {
    Assume(static_cast<Assumption>((*random)() % 9), &claim);
  }
  return claim;
}

TEST(CombineClaimsTest, CoversEveryClaimAndIsOneOfTheirFigures) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Claim> claims(1 + random() % 5);
    for (Claim& claim : claims) claim = RandomClaim(&random);
    const CombinedClaim combined = CombineClaims(claims);
    ASSERT_TRUE(combined.claim) << combined.refusal;
    EXPECT_EQ(combined.refusal, "");
    bool is_one_of_them = false;
    for (const Claim& claim : claims) {
      EXPECT_GE(combined.claim->epsilon, claim.epsilon);
      EXPECT_GE(combined.claim->delta, claim.delta);
      EXPECT_NE(combined.claim->accountant.find(claim.accountant), std::string::npos);
      Claim joined = *combined.claim;
      for (const Assumption assumption : claim.assumptions) Assume(assumption, &joined);
      EXPECT_EQ(joined.assumptions, combined.claim->assumptions);
      is_one_of_them = is_one_of_them || combined.claim->epsilon == claim.epsilon;
    }
    EXPECT_TRUE(is_one_of_them);
  }
}

TEST(CombineClaimsTest, NeitherOrderNorRepetitionChangesTheFigure) {
  std::mt19937 random(8);
  for (int trial = 0; trial < 100; ++trial) {
    const std::vector<Claim> claims = {RandomClaim(&random), RandomClaim(&random),
                                       RandomClaim(&random)};
    const Claim all = *CombineClaims(claims).claim;
    const Claim reversed = *CombineClaims({claims[2], claims[1], claims[0], claims[1]}).claim;
    EXPECT_EQ(all.epsilon, reversed.epsilon);
    EXPECT_EQ(all.delta, reversed.delta);
    EXPECT_EQ(all.assumptions, reversed.assumptions);
    EXPECT_EQ(all.accountant.size(), reversed.accountant.size());
    const Claim nested =
        *CombineClaims({*CombineClaims({claims[0], claims[1]}).claim, claims[2]}).claim;
    EXPECT_EQ(all.epsilon, nested.epsilon);
    EXPECT_EQ(all.delta, nested.delta);
    EXPECT_EQ(all.assumptions, nested.assumptions);
  }
}

TEST(CombineClaimsTest, OneClaimIsItself) {
  std::mt19937 random(9);
  const Claim claim = RandomClaim(&random);
  const Claim combined = *CombineClaims({claim}).claim;
  EXPECT_EQ(combined.epsilon, claim.epsilon);
  EXPECT_EQ(combined.accountant, claim.accountant);
  EXPECT_EQ(combined.assumptions, claim.assumptions);
}

TEST(CombineClaimsTest, RefusesToMixAndNamesTheFieldAndBothValues) {
  struct Change {
    std::function<void(Claim*)> change;
    const char* refusal;
  };
  const Change changes[] = {
      {[](Claim* c) { c->adversary = Adversary::kNetwork; },
       "the claims differ in adversary: public and network"},
      {[](Claim* c) { c->view = View::kOneUpdate; },
       "the claims differ in view: releases and one-update"},
      {[](Claim* c) { c->adjacency = Adjacency::kAddRemove; },
       "the claims differ in adjacency: replace-one and add-remove"},
      {[](Claim* c) { c->colluders = 3; }, "the claims differ in colluders: 0 and 3"},
      {[](Claim* c) { c->trust_mode = TrustMode::kPrivateNoise; },
       "the claims differ in trust mode: trusted-server and private-noise"},
  };
  const Claim claim;
  for (const Change& change : changes) {
    Claim other = claim;
    change.change(&other);
    const CombinedClaim combined = CombineClaims({claim, claim, other});
    EXPECT_FALSE(combined.claim);
    EXPECT_EQ(combined.refusal, change.refusal);
    EXPECT_FALSE(CombineClaims({other, claim}).claim) << change.refusal;
    EXPECT_TRUE(CombineClaims({other, other}).claim) << change.refusal;
  }
}

TEST(CombineClaimsTest, NoClaimsHaveNoFigure) {
  EXPECT_FALSE(CombineClaims({}).claim);
  EXPECT_NE(CombineClaims({}).refusal, "");
}

}  // namespace
}  // namespace sotto::privacy
