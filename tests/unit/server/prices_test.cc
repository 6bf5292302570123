// What an act costs is told before it is done, and is what the job says afterwards.
#include "views/prices.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

#include "store/recovery.h"
#include "unit/server/server_start.h"

namespace sotto::server {
namespace {

class PricesTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  }

  // One round of this job.
  void Begin(const JobConfig& config) const {
    ServerStart server(path_, config);
    ASSERT_TRUE(server.Open());
    server.Report();
    ASSERT_TRUE(server.job().CloseRound().released);
  }

  History Now() const { return SqlStore(path_).ReadHistory(); }

  // What the job itself says of its end.
  std::vector<privacy::Claim> Planned(const JobConfig& config) const {
    ServerStart server(path_, config);
    const auto rounds = static_cast<uint32_t>(config.plan.rounds);
    return server.job().SpentAfter(rounds, rounds).claims;
  }

  static void ExpectSame(const std::vector<privacy::Claim>& a,
                         const std::vector<privacy::Claim>& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) EXPECT_EQ(a[i].epsilon, b[i].epsilon) << i;
  }
};

TEST_F(PricesTest, ARevocationUnderUniformCohortsCostsWhatTheJobThenSays) {
  Begin(SmallConfig());
  const History before = Now();
  ExpectSame(PlannedClaims(before), Planned(SmallConfig()));
  History after = before;
  Revoke("small-3", &after);
  const Price price = PriceOf(before, after);
  EXPECT_TRUE(price.moves);
  EXPECT_TRUE(Says(price.text, "now ") && Says(price.text, "after ")) << price.text;
  const std::vector<privacy::Claim> told = PlannedClaims(after);
  EXPECT_GT(told.front().epsilon, PlannedClaims(before).front().epsilon);
  SqlStore(path_).RevokeDevice("small-3");
  ExpectSame(told, PlannedClaims(Now()));
  ServerStart server(path_, SmallConfig());
  ASSERT_TRUE(server.Open());  // it takes the fleet with its next attempt
  ExpectSame(told, server.job().SpentAfter(3, 3).claims);
}

TEST_F(PricesTest, NewDevicesOfAUniformJobMoveNothing) {
  Begin(SmallConfig());
  History after = Now();
  AddEligible(5, &after);
  const Price price = PriceOf(Now(), after);
  EXPECT_FALSE(price.moves);
  EXPECT_TRUE(Says(price.text, "no figure moves")) << price.text;
}

TEST_F(PricesTest, MoreRoundsCostMoreUnderUniformCohortsAndNothingUnderPasses) {
  Begin(SmallConfig());
  History after = Now();
  Extend({5, std::numeric_limits<double>::infinity()}, &after);
  EXPECT_TRUE(PriceOf(Now(), after).moves);
  EXPECT_GT(PlannedClaims(after).front().epsilon, PlannedClaims(Now()).front().epsilon);
}

TEST_F(PricesTest, AnExtensionSaysBothPlansInOneLine) {
  Begin(SmallConfig());
  const double none = std::numeric_limits<double>::infinity();
  EXPECT_EQ(DescribeExtension(Now(), {3, none}), "");
  const std::string text = DescribeExtension(Now(), {5, 9});
  EXPECT_TRUE(Says(text, "Before: 3 rounds: epsilon ")) << text;
  EXPECT_TRUE(Says(text, "From now on: 5 rounds, budget 9: epsilon ")) << text;
}

TEST_F(PricesTest, UnderPassesNoFleetMovesAFigure) {
  Begin(SmallPassesConfig());
  History after = Now();
  Revoke("small-3", &after);
  EXPECT_FALSE(PriceOf(Now(), after).moves);
  AddEligible(20, &after);
  Extend({9, std::numeric_limits<double>::infinity()}, &after);
  EXPECT_FALSE(PriceOf(Now(), after).moves);
  for (int i = 4; i < 12; ++i) Revoke("small-" + std::to_string(i), &after);
  EXPECT_TRUE(Says(PriceOf(Now(), after).text, "no figure moves"));
}

TEST_F(PricesTest, WhereNoJobRunsNothingIsSaid) {
  History after = Now();
  AddEligible(1, &after);
  EXPECT_EQ(PriceOf(Now(), after).text, "");
  EXPECT_FALSE(PriceOf(Now(), after).moves);
}

TEST_F(PricesTest, TooFewDevicesAreNamed) {
  Begin(SmallConfig());
  History after = Now();
  for (int i = 3; i < 12; ++i) Revoke("small-" + std::to_string(i), &after);
  const std::string text = PriceOf(Now(), after).text;
  EXPECT_TRUE(Says(text, "needs 4 devices, and 3 are eligible then: the job waits")) << text;
}

TEST_F(PricesTest, ARaiseOfTheLifeEpsilonSaysBothLimits) {
  EXPECT_EQ(PriceOfLife(Now(), 6), "");
  SqlStore(path_).RaiseLifeEpsilon(6, 1e-5);
  const std::string text = PriceOfLife(Now(), 9);
  EXPECT_TRUE(Says(text, "now    epsilon 6 at delta 1e-05 (mu 1.")) << text;
  EXPECT_TRUE(Says(text, "after  epsilon 9 at delta 1e-05 (mu 1.")) << text;
}

TEST_F(PricesTest, ACopySaysWhatGoesOnAndWhatIsOver) {
  EXPECT_TRUE(Says(DescribeCopy(Now()), "no job has begun")) << DescribeCopy(Now());
  Begin(SmallPassesConfig());
  const std::string passes = DescribeCopy(Now());
  EXPECT_TRUE(Says(passes, "job 1: 1 of 6 rounds released, 1 attempt")) << passes;
  EXPECT_TRUE(Says(passes, "at most 20 turns, less the lost ones")) << passes;
  EXPECT_TRUE(Says(passes, "spent for good")) << passes;
  SqlStore(path_).RaiseLifeEpsilon(60, 1e-3);
  EXPECT_TRUE(Says(DescribeCopy(Now()), "had spent the life epsilon, 60")) << DescribeCopy(Now());
}

TEST_F(PricesTest, ACopyOfSecretDrawsIsOver) {
  Begin(SmallConfig());
  EXPECT_TRUE(Says(DescribeCopy(Now()), "is over")) << DescribeCopy(Now());
}

}  // namespace
}  // namespace sotto::server
