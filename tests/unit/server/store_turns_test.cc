// Tests of the turns in a store: sealed means charged, and nothing refills a device.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "plans/turns.h"
#include "store/ledger.h"
#include "unit/server/server_start.h"
#include "unit/server/store_fixture.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

class StoreTurnsTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
  }
};

TEST_F(StoreTurnsTest, EachStartGoesOnWithTheTurnsOfTheOnesBefore) {
  for (int start = 0; start < 3; ++start) {
    ServerStart server(path_);
    for (int round = 0; round < 2; ++round) {
      ASSERT_TRUE(server.Open());
      server.Report();
      ASSERT_TRUE(server.job().CloseRound().released);
    }
  }
  ServerStart last(path_);
  EXPECT_FALSE(last.Open());
  const std::map<int64_t, int> turns = TurnsIn(last.store());
  EXPECT_EQ(turns.size(), kSmallDevices);
  for (const auto& [device, count] : turns) EXPECT_EQ(count, 2) << device;
  const JobLedger job = ReadLedger(last.store())[0];
  ASSERT_TRUE(job.halt);
  EXPECT_EQ(job.halt->kind, Halt::kAllRounds) << "and every start said the same";
  ASSERT_TRUE(job.end);
  EXPECT_EQ(job.end->kind, Halt::kAllRounds);
  EXPECT_EQ(job.halt->number, 1);
  EXPECT_EQ(job.turns.participations, 2);
  ASSERT_EQ(job.turns.devices.size(), kSmallDevices);
  for (const DeviceTurns& device : job.turns.devices) {
    EXPECT_EQ(device.used, 2) << device.id;
    EXPECT_EQ(device.left, 0) << device.id;
  }
}

TEST_F(StoreTurnsTest, TheLedgerKnowsWhoHasTurnsLeftAndWhoWasNeverAsked) {
  ServerStart server(path_);
  ASSERT_TRUE(server.Open());
  const std::vector<uint32_t> asked = server.job().cohort();
  server.Report();
  ASSERT_TRUE(server.job().CloseRound().released);
  server.store().RevokeDevice("small-" + std::to_string(asked[0]));
  const JobLedger job = ReadLedger(server.store())[0];
  EXPECT_FALSE(job.halt);
  for (uint32_t i = 0; i < kSmallDevices; ++i) {
    const DeviceTurns& device = job.turns.devices[i];
    const bool was_asked = std::count(asked.begin(), asked.end(), i) > 0;
    EXPECT_EQ(device.used, was_asked ? 1 : 0) << device.id;
    EXPECT_EQ(device.left, i == asked[0] ? 0 : 2 - device.used) << device.id;
    EXPECT_EQ(device.last_round, was_asked ? 0 : DeviceTurns::kNoTurn) << device.id;
  }
  const nlohmann::ordered_json json = TurnsToJson(job.turns);
  EXPECT_EQ(json["never_asked"].size(), kSmallDevices - 4);
  EXPECT_EQ(json["with_a_turn_left"], kSmallDevices - 1);
  EXPECT_EQ(DescribeTurns(job.turns),
            "0 for 8 devices, 1 for 4 devices; at most 2 for each; 11 of 12 devices have a turn "
            "left, and a round needs 4");
}

TEST_F(StoreTurnsTest, TenNamesAreShownAndTheOthersCounted) {
  JobTurns job;
  job.participations = 1;
  for (int i = 0; i < 33; ++i) job.devices.push_back({"d" + std::to_string(i), 0, 1});
  EXPECT_EQ(DescribeNeverAsked(job), "d0, d1, d2, d3, d4, d5, d6, d7, d8, d9 and 23 more");
  job.devices.resize(2);
  EXPECT_EQ(DescribeNeverAsked(job), "d0, d1");
}

TEST_F(StoreTurnsTest, WhyAJobOpensNoAttemptIsARecordUntilTheNextOne) {
  ServerStart server(path_);
  server.store().HaltJob({Halt::kWaiting, "nobody is there"});
  server.store().HaltJob({Halt::kWaiting, "nobody is there"});
  std::optional<HaltEntry> halt = ReadLedger(server.store())[0].halt;
  ASSERT_TRUE(halt);
  EXPECT_EQ(halt->number, 1) << "the same reason is written once";
  EXPECT_EQ(halt->reason, "nobody is there");
  EXPECT_EQ(halt->rounds, 6);
  ASSERT_TRUE(server.Open());
  EXPECT_FALSE(ReadLedger(server.store())[0].halt);
  EXPECT_FALSE(ReadLedger(server.store())[0].end);
  server.store().HaltJob({Halt::kGaveUp, "nobody came"});
  halt = ReadLedger(server.store())[0].halt;
  ASSERT_TRUE(halt);
  EXPECT_EQ(halt->attempts, 1);
  EXPECT_EQ(ReadLedger(server.store())[0].end->kind, Halt::kGaveUp);
  EXPECT_EQ(InspectStore(path_).version, 9) << "every record is as it was written";
}

TEST_F(StoreTurnsTest, ClaimsWithoutMuGetTheirEpsilonsAtOtherDeltas) {
  ServerStart server(path_, SmallConfig());
  ASSERT_TRUE(server.Open());
  server.Report();
  ASSERT_TRUE(server.job().CloseRound().released);
  std::vector<JobLedger> jobs = ReadLedger(server.store());
  AddPairs(server.store(), &jobs);
  const std::vector<privacy::Claim>& claims = jobs[0].releases[0].claims;
  privacy::Statement spent = server.job().Spent();
  privacy::AddPairs(server.job().config().plan, 1, 1, {}, &spent);
  ASSERT_EQ(claims.size(), spent.claims.size());
  for (size_t i = 0; i < claims.size(); ++i) {
    EXPECT_TRUE(claims[i].attacker_right);
    EXPECT_EQ(claims[i].pairs.size(), claims[i].mu ? 0u : 2u);
    ASSERT_EQ(claims[i].pairs.size(), spent.claims[i].pairs.size());
    for (size_t k = 0; k < claims[i].pairs.size(); ++k) {
      EXPECT_EQ(claims[i].pairs[k].epsilon, spent.claims[i].pairs[k].epsilon);
    }
  }
}

TEST_F(StoreTurnsTest, AnAttemptThatWasOpenWhenTheServerDiedCostsNothing) {
  {
    ServerStart server(path_);
    ASSERT_TRUE(server.Open());
    server.Report();
  }
  ServerStart again(path_);
  EXPECT_TRUE(TurnsIn(again.store()).empty());
  ASSERT_TRUE(again.Open());
  EXPECT_EQ(again.job().attempt(), 1u);
}

// The seal is durable before the sum is read: a server that dies then has charged the turn.
TEST_F(StoreTurnsTest, AnAttemptThatWasSealedIsChargedThoughItReleasedNothing) {
  JobConfig config = SmallPassesConfig(1, 6);
  std::vector<uint32_t> sealed;
  {
    ServerStart server(path_, config);
    ASSERT_TRUE(server.Open());
    sealed = server.job().cohort();
    SealRecord seal = {0, 0, {}};
    for (const uint32_t device : sealed) seal.devices.push_back(int64_t{device} + 1);
    server.store().SealAttempt(seal);
  }
  ServerStart again(path_, config);
  again.RunToItsEnd();
  EXPECT_EQ(again.job().round(), 2u) << "eight devices had their one turn left";
  for (const auto& [device, count] : TurnsIn(again.store())) EXPECT_EQ(count, 1) << device;
  const History history = again.store().ReadHistory();
  ASSERT_EQ(SpentBy(history, history.jobs[0]).size(), 1u);
  EXPECT_EQ(SpentBy(history, history.jobs[0])[0].rounds, 3) << "two releases and a seal";
}

TEST_F(StoreTurnsTest, NewSecretsRefillNothingAndNewDevicesGoOn) {
  const JobConfig config = SmallPassesConfig(1, 20);
  {
    ServerStart server(path_, config);
    server.RunToItsEnd();
    EXPECT_EQ(server.job().round(), 3u);
    Key secret;
    secret.bytes[30] = 7;
    server.store().RotateDevice("small-3", secret);
    server.store().RevokeDevice("small-4");
    EXPECT_THROW(server.store().AddDevices({{"small-4", secret}}, false), std::runtime_error)
        << "a name is not used again";
  }
  {
    ServerStart server(path_, config);
    EXPECT_FALSE(server.Open());
    EXPECT_NE(server.job().finish_reason().find("turns of its devices are used"),
              std::string::npos);
    std::vector<Device> more;
    for (uint8_t i = 0; i < 4; ++i) {
      more.push_back({"more-" + std::to_string(i), {}});
      more.back().secret.bytes[29] = static_cast<uint8_t>(i + 1);
    }
    server.store().AddDevices(more, false);
  }
  ServerStart server(path_, config);
  server.RunToItsEnd();
  EXPECT_EQ(server.job().round(), 4u) << "the four new ones";
  for (const auto& [device, count] : TurnsIn(server.store())) EXPECT_EQ(count, 1) << device;
}

TEST_F(StoreTurnsTest, TheLedgerKeepsWhatAClaimSays) {
  ServerStart server(path_);
  ASSERT_TRUE(server.Open());
  server.Report();
  const privacy::Statement spent = server.job().CloseRound().spent;
  const std::vector<LedgerEntry> ledger = server.store().Ledger();
  ASSERT_EQ(ledger.size(), 1u);
  EXPECT_EQ(ledger[0].plan.participations, 2);
  EXPECT_EQ(ledger[0].plan.sampling, privacy::Sampling::kPasses);
  ASSERT_EQ(ledger[0].claims.size(), spent.claims.size());
  for (size_t i = 0; i < spent.claims.size(); ++i) {
    EXPECT_EQ(ledger[0].claims[i].mu, spent.claims[i].mu);
    EXPECT_EQ(ledger[0].claims[i].attacker_right, spent.claims[i].attacker_right);
    EXPECT_EQ(ledger[0].claims[i].participations, 2);
    EXPECT_EQ(ledger[0].claims[i].zero_out_epsilon, spent.claims[i].zero_out_epsilon);
    EXPECT_EQ(ledger[0].claims[i].assumptions, spent.claims[i].assumptions);
  }
}

TEST_F(StoreTurnsTest, ASecondJobBeginsWithWhatTheFirstOneSpent) {
  double first = 0;
  {
    ServerStart server(path_);
    server.RunToItsEnd();
    first = server.job().Spent().epsilon();
  }
  SqlStore store(path_, StoreMode::kExisting);
  const std::vector<privacy::SpentRounds> before = SpentBefore(store.ReadHistory(), nullptr);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].rounds, 6);
  const JobConfig config = SmallPassesConfig();
  const privacy::Statement both = privacy::Account(config.plan, 6, before);
  EXPECT_NEAR(*both.Headline().mu, std::sqrt(2.0) * *privacy::Account(config.plan, 6).Headline().mu,
              1e-9);
  EXPECT_GT(both.epsilon(), first);
}

// Of uniform cohorts too: they are written with the release, and a later job counts them.
TEST_F(StoreTurnsTest, ALaterJobIsChargedForTheRoundsThatReallyDrewADevice) {
  std::map<int64_t, int64_t> drawn;
  {
    ServerStart server(path_, SmallConfig());
    while (server.Open()) {
      for (const uint32_t device : server.job().cohort()) ++drawn[int64_t{device} + 1];
      server.Report();
      EXPECT_TRUE(server.job().CloseRound().released);
    }
  }
  SqlStore store(path_, StoreMode::kExisting);
  for (const auto& [device, count] : TurnsIn(store)) EXPECT_EQ(count, drawn.at(device)) << device;
  EXPECT_EQ(TurnsIn(store).size(), drawn.size());
  int64_t most = 0;
  for (const auto& [device, count] : drawn) most = std::max(most, count);
  const std::vector<privacy::SpentRounds> before = SpentBefore(store.ReadHistory(), nullptr);
  ASSERT_EQ(before.size(), 1u);
  EXPECT_EQ(before[0].rounds, 3);
  EXPECT_EQ(before[0].turns, most);
  const auto resumed = ReadState(store, LastJob(store.ReadHistory()));
  EXPECT_TRUE(resumed->seals.empty()) << "only passes needs them";
}

TEST_F(StoreTurnsTest, AnAttemptOfAUniformJobThatReleasedNothingIsNoTurn) {
  {
    ServerStart server(path_, SmallConfig());
    ASSERT_TRUE(server.Open());
    server.Report();
  }
  ServerStart again(path_, SmallConfig());
  EXPECT_TRUE(TurnsIn(again.store()).empty());
}

// A job of six rounds of which one is released, in which devices 1 to 4 had a turn.
class QueuedBehindTest : public StoreTurnsTest {
 protected:
  History BehindTheJob(const privacy::RoundSchedule& schedule, bool after, int released = 1) {
    JobConfig config = SmallPassesConfig(2, 6);
    config.plan.schedule = schedule;
    plan_ = config.plan;
    SqlStore store(path_);
    store.BeginJob(RecordOf(config));
    if (released > 0) {
      store.CommitAttempt({0, 0, {0, 1, 2, 3}, kSmallDevices});
      store.SealAttempt({0, 0, {1, 2, 3, 4}});
      Release(store, 0, 0);
    }
    return AfterTheJobThatRuns(store.ReadHistory(), after);
  }

  double MuSquared(int64_t a, int64_t b) const {
    return privacy::TurnIn(plan_, a).mu_squared + privacy::TurnIn(plan_, b).mu_squared;
  }

  // What a job that is queued now is told of the earlier ones.
  void ExpectCostsOf(const History& history, int64_t a, int64_t b) const {
    const std::vector<privacy::SpentRounds> spent = SpentBefore(history, nullptr);
    const double mu = *privacy::Account(plan_, 0, spent).Headline().mu;
    EXPECT_NEAR(mu * mu, MuSquared(a, b), 1e-6 * mu * mu);
    EXPECT_GE(mu * mu, MuSquared(a, b) * (1 - 1e-12));
    EXPECT_EQ(spent[0].rounds, 6);
  }

  privacy::Plan plan_;
};

TEST_F(QueuedBehindTest, RoundsThatAreStillToComeCostWhatTheirNoiseSays) {
  privacy::RoundSchedule schedule;
  schedule.noise_decay = 0.9;
  const History history = BehindTheJob(schedule, false);
  ExpectCostsOf(history, 4, 5);
  const TurnsByDevice turns = TurnsBefore(history, nullptr);
  EXPECT_EQ(turns.at(1).mu_squared, MuSquared(0, 5));
  EXPECT_EQ(turns.at(5).mu_squared, MuSquared(5, 4));
  EXPECT_EQ(turns.at(5).count, 2);
}

TEST_F(QueuedBehindTest, ARoundNeedNotBeReleasedForThat) {
  privacy::RoundSchedule schedule;
  schedule.noise_decay = 0.9;
  ExpectCostsOf(BehindTheJob(schedule, true, 0), 4, 5);
}

TEST_F(QueuedBehindTest, WhereBoundsFallTheNextRoundsAreTheCostliestOfALife) {
  privacy::RoundSchedule schedule;
  schedule.bound = {0.7, 0.3, 5, {0.2, 1.0, privacy::LearningRateSchedule::kInverseRound}};
  const History history = BehindTheJob(schedule, false);
  ExpectCostsOf(history, 0, 1);
  const TurnsByDevice turns = TurnsBefore(history, nullptr);
  EXPECT_EQ(turns.at(1).mu_squared, MuSquared(0, 1));
  EXPECT_EQ(turns.at(5).mu_squared, MuSquared(1, 2));
}

}  // namespace
}  // namespace sotto::server
