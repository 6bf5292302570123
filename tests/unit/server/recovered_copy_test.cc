// Tests of an older copy of a store that was recovered: what the copy has lost is charged to each
// device by its receipt, and nobody gets a turn beyond its limits.
#include "unit/server/recovered_copy.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "backends/open_store.h"
#include "jobs/job_queue.h"
#include "plans/statement.h"
#include "plans/turns.h"
#include "store/ledger.h"
#include "store/recovery.h"
#include "unit/server/server_start.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

TEST_F(RecoveredCopyTest, IsRefusedUntilItIsRecovered) {
  OF_A_FILE_ONLY();
  Rounds(SmallPassesConfig(), 1);
  CopyTo(".old");
  Rounds(SmallPassesConfig(), 2);
  Restore(".old");
  {
    ServerStart server(path_);
    EXPECT_THROW(fleet_.Hello(server), StaleLog);
  }
  Recover();
  ServerStart server(path_);
  EXPECT_FALSE(server.Open()) << "nobody has settled";
  EXPECT_TRUE(Says(server.job().waiting_for(), "12 devices must first show a receipt"))
      << server.job().waiting_for();
  fleet_.Hello(server);
  EXPECT_EQ(server.job().WaitingNow(), "") << "they have shown theirs";
  ASSERT_TRUE(server.Open());
}

// Round 0 is in the copy; rounds 1 and 2 are lost. So all have had their first turn.
TEST_F(RecoveredCopyTest, ChargesEachDeviceForWhatItsReceiptShows) {
  OF_A_FILE_ONLY();
  Rounds(SmallPassesConfig(), 1);
  CopyTo(".old");
  Rounds(SmallPassesConfig(), 2);
  Restore(".old");
  Recover();
  for (const DeviceTurns& device : Turns().devices) {
    EXPECT_TRUE(device.must_settle);
    EXPECT_EQ(device.left, 0);
  }
  EXPECT_EQ(TurnsToJson(Turns())["must_settle"].size(), kSmallDevices);
  {
    ServerStart server(path_);
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    ASSERT_TRUE(server.Open());
    fleet_.Hello(server);  // those that are not asked bring the same receipt again
    fleet_.Close(server);
  }
  int used = 0;
  for (const DeviceTurns& device : Turns().devices) {
    EXPECT_FALSE(device.must_settle);
    EXPECT_EQ(device.used + device.left, 2) << "no turn is lost by rounding";
    used += static_cast<int>(device.used);
  }
  EXPECT_EQ(used, 16);
  {
    SqlStore store(path_);  // to a later job its two turns are known
    EXPECT_EQ(SpentBefore(store.ReadHistory(), nullptr).at(0).turns, 2);
  }
  ServerStart server(path_);  // after a restart they have settled for good
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(server.Open());
    fleet_.Hello(server);
    fleet_.Close(server);
  }
  EXPECT_FALSE(server.Open());
  EXPECT_TRUE(Says(server.job().finish_reason(), "turns of its devices are used"))
      << server.job().finish_reason();
  for (const auto& [device, turns] : fleet_.turns()) EXPECT_EQ(turns, 2) << device;
  EXPECT_GT(InspectStore(path_).records, 0) << "every record is as it was written";
}

TEST_F(RecoveredCopyTest, ADeviceWithoutAGenuineReceiptIsNotAsked) {
  OF_A_FILE_ONLY();
  Rounds(SmallPassesConfig(4, 12), 3);
  CopyTo(".old");
  Rounds(SmallPassesConfig(4, 12), 1);
  Restore(".old");
  Recover();
  fleet_.receipts()[1].clear();
  fleet_.receipts()[2][35] ^= 1;     // other turns
  fleet_.receipts()[3] = {1, 2, 3};  // nonsense
  ServerStart server(path_, SmallPassesConfig(4, 12));
  EXPECT_FALSE(server.Open());
  fleet_.Hello(server);
  EXPECT_EQ(server.store().ignored_receipts(), 2u);
  for (int round = 0; round < 4; ++round) {
    ASSERT_TRUE(server.Open());
    for (const uint32_t index : server.job().cohort()) {
      EXPECT_GT(server.devices().NumberOf(index), 3);
    }
    fleet_.Hello(server);
    fleet_.Close(server);
  }
  int waiting = 0;
  for (const DeviceTurns& device : Turns().devices) waiting += device.must_settle ? 1 : 0;
  EXPECT_EQ(waiting, 3);
  EXPECT_EQ(DescribeMustSettle(Turns()), "small-0, small-1, small-2");
}

TEST_F(RecoveredCopyTest, ADeviceThatWasRegisteredLaterNeedsNoReceipt) {
  Rounds(SmallPassesConfig(), 1);
  Recover();
  std::vector<Device> later;
  for (uint8_t i = 0; i < 4; ++i) {
    later.push_back({"later-" + std::to_string(i), {}});
    later.back().secret.bytes[29] = static_cast<uint8_t>(i + 1);
  }
  SqlStore(path_).AddDevices(later, false);
  ServerStart server(path_);
  EXPECT_FALSE(server.Open());
  for (uint32_t index = kSmallDevices; index < kSmallDevices + 4; ++index) {
    fleet_.HelloOf(server, index);
  }
  ASSERT_TRUE(server.Open());
  EXPECT_EQ(server.job().cohort(), (std::vector<uint32_t>{12, 13, 14, 15}));
}

// The copy was made between the draw and the seal of an attempt, which the original released.
TEST_F(RecoveredCopyTest, AKnownAttemptThatWasSealedAfterTheCopyIsCharged) {
  OF_A_FILE_ONLY();
  {
    ServerStart server(path_, SmallPassesConfig(1, 3));
    ASSERT_TRUE(server.Open());
    CopyTo(".old");
    fleet_.Hello(server);
    fleet_.Close(server);
  }
  Restore(".old");
  Recover();
  ServerStart server(path_, SmallPassesConfig(1, 3));
  EXPECT_FALSE(server.Open());
  fleet_.Hello(server);
  EXPECT_FALSE(server.Open());
  int used = 0;
  for (const DeviceTurns& device : Turns().devices) used += static_cast<int>(device.used);
  EXPECT_EQ(used, 4);
}

TEST_F(RecoveredCopyTest, AnOlderCopyOfARecoveredOneIsRefusedAgain) {
  OF_A_FILE_ONLY();
  Rounds(SmallPassesConfig(4, 12), 3);
  CopyTo(".old");
  Rounds(SmallPassesConfig(4, 12), 1);
  Restore(".old");
  Recover();
  {
    ServerStart server(path_, SmallPassesConfig(4, 12));
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    ASSERT_TRUE(server.Open());
    CopyTo(".older");
    ASSERT_TRUE(server.job().CloseRound().released);
    ASSERT_TRUE(server.Open());
    fleet_.Hello(server);
    fleet_.Close(server);
  }
  Restore(".older");
  ServerStart again(path_, SmallPassesConfig(4, 12));
  EXPECT_THROW(fleet_.Hello(again), StaleLog);
}

TEST_F(RecoveredCopyTest, OtherSamplingsAndFixedOrdersAreRefused) {
  SqlStore(path_).RaiseLifeEpsilon(100, 1e-3);
  Recover();
  const auto refusal = [&](const JobConfig& config) -> std::string {
    try {
      const ServerStart server(path_, config);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "it begins";
  };
  EXPECT_TRUE(Says(refusal(SmallConfig()), "--sampling uniform: ")) << refusal(SmallConfig());
  JobConfig fixed = SmallPassesConfig();
  fixed.plan.order = privacy::Order::kFixed;
  EXPECT_TRUE(Says(refusal(fixed), "--order fixed: ")) << refusal(fixed);
  EXPECT_EQ(refusal(SmallPassesConfig()), "it begins");
}

// Otherwise every start of the server would fail, and no other job could ever begin.
TEST_F(RecoveredCopyTest, AJobThatMayNotGoOnIsOverAndTheServerServesTheNextOne) {
  {
    ServerStart server(path_, SmallConfig());
    ASSERT_TRUE(server.Open());
    server.Report();
    ASSERT_TRUE(server.job().CloseRound().released);
  }
  SqlStore store(path_);
  EXPECT_NE(JobToGoOnWith(store.ReadHistory()), nullptr);
  store.Recover();
  const History history = store.ReadHistory();
  const std::optional<HaltEntry> end = EndOf(history, history.jobs[0]);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, Halt::kOperator);
  EXPECT_TRUE(Says(end->reason, "sotto job start")) << end->reason;
  EXPECT_EQ(JobToGoOnWith(history), nullptr) << "so the server idles, and takes what is queued";
  EXPECT_FALSE(Says(WhyUnbounded(history), "go on until")) << "no job does";
  EXPECT_TRUE(Says(WhyUnbounded(history), "sotto keys revoke"));
}

TEST_F(RecoveredCopyTest, AJobThatWasReplacedBeforeTheCopyWasNotEndedByTheRecovery) {
  SqlStore store(path_);
  store.BeginJob(RecordOf(SmallConfig()));
  store.AllowNewJob();
  store.BeginJob(OtherRecordOf(SmallConfig()));
  store.Recover();
  const History history = store.ReadHistory();
  EXPECT_EQ(EndOf(history, history.jobs[0])->kind, Halt::kReplaced);
  EXPECT_EQ(EndOf(history, history.jobs[1])->kind, Halt::kOperator);
}

// The first job was stopped before its devices could show what the lost part asked of them.
TEST_F(RecoveredCopyTest, TurnsThatAreSettledLateAreTurnsOfTheJobThatTheyBelongTo) {
  OF_A_FILE_ONLY();
  const JobConfig config = SmallPassesConfig(2, 6);
  const privacy::Turns turn = privacy::TurnIn(config.plan, 0);
  const privacy::Turns three = turn + turn + turn;
  SqlStore(path_).RaiseLifeEpsilon(LifeEpsilonFor(three, 1e-3, config.plan.certificate), 1e-3);
  Rounds(config, 1);
  CopyTo(".old");
  Rounds(config, 5);
  Restore(".old");
  Recover();
  {
    ServerStart server(path_, SmallPassesConfig(2, 6), true);
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    int rounds = 0;
    for (; server.Open(); ++rounds) ASSERT_TRUE(server.job().CloseRound().released);
    EXPECT_EQ(rounds, 3) << "a third turn of each device, and no fourth one";
  }
  SqlStore store(path_);
  const History history = store.ReadHistory();
  EXPECT_EQ(history.jobs[0].settled.size(), kSmallDevices);
  EXPECT_TRUE(history.jobs[1].settled.empty());
  for (const DeviceTurns& device : TurnsOf(history, history.jobs[1]).devices) {
    EXPECT_EQ(device.used, 1) << "the life epsilon has room for three: " << device.id;
    EXPECT_EQ(device.left, 0) << device.id;
  }
  for (const auto& [device, turns] : TurnsBefore(history, &history.jobs[1])) {
    EXPECT_EQ(turns.count, 2) << device;
  }
}

// Turns of a lost job with other costs count in the life limit, rounded up.
TEST_F(RecoveredCopyTest, ALostJobCountsInTheLifeLimit) {
  OF_A_FILE_ONLY();
  const JobConfig config = SmallPassesConfig(1, 3);
  JobConfig loud = config;
  loud.plan.noise_sigma /= 2;
  loud.plan = RoundToDevice(loud.plan);
  const privacy::Turns turn = privacy::TurnIn(config.plan, 0);
  const privacy::Turns costly = privacy::TurnIn(loud.plan, 0);
  SqlStore(path_).RaiseLifeEpsilon(
      LifeEpsilonFor(turn + turn + costly, 1e-3, config.plan.certificate), 1e-3);
  Rounds(config, 3);
  CopyTo(".old");
  {
    ServerStart server(path_, loud, true);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(server.Open());
      fleet_.Hello(server);
      fleet_.Close(server);
    }
  }
  Restore(".old");
  Recover();
  {
    ServerStart server(path_, SmallPassesConfig(3, 9), true);
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    server.Open();
  }
  SqlStore store(path_);
  const TurnsByDevice used = TurnsBefore(store.ReadHistory(), nullptr);
  EXPECT_EQ(used.size(), kSmallDevices);
  for (const auto& [device, turns] : used) {
    EXPECT_EQ(turns.count, 2) << device;
    const double least = turn.mu_squared + costly.mu_squared;
    EXPECT_GE(turns.mu_squared, least * (1 - 1e-12));
    EXPECT_LE(turns.mu_squared, least * (1 + 1e-6));
  }
}

// The copy has one round of the job, the lost part the other turns of some devices.
TEST_F(RecoveredCopyTest, ALaterJobIsChargedForTheWholeLimitOfTheJobThatLostRounds) {
  OF_A_FILE_ONLY();
  const JobConfig config = SmallPassesConfig(2, 6);
  Rounds(config, 1);
  CopyTo(".old");
  Rounds(config, 5);
  Restore(".old");
  Recover();
  SqlStore store(path_);
  const History history = store.ReadHistory();
  std::vector<privacy::SpentRounds> spent = SpentBefore(history, nullptr);
  ASSERT_FALSE(spent.empty());
  EXPECT_EQ(spent[0].turns, 2);
  EXPECT_GE(spent[0].rounds, 2);
  const double truth = std::sqrt(2 * privacy::TurnIn(config.plan, 0).mu_squared);
  const privacy::Statement all = privacy::Account(config.plan, 0, spent);
  EXPECT_GE(all.Headline().mu.value_or(1e9), truth * (1 - 1e-9));
}

TEST_F(RecoveredCopyTest, WithoutALifeEpsilonADeviceWithoutAReceiptIsSpentForGood) {
  OF_A_FILE_ONLY();
  Rounds(SmallPassesConfig(4, 12), 3);
  CopyTo(".old");
  Rounds(SmallPassesConfig(4, 12), 1);
  Restore(".old");
  Recover();
  fleet_.receipts().erase(1);
  {
    ServerStart server(path_, SmallPassesConfig(4, 12));
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    ASSERT_TRUE(server.Open());
  }
  SqlStore store(path_);
  const History history = store.ReadHistory();
  EXPECT_EQ(UnshownDevices(history), std::vector<int64_t>{1});
  EXPECT_TRUE(std::isinf(TurnsAtMost(history).at(1).mu_squared));
  EXPECT_TRUE(Says(WhyNotLifeEpsilon(history, 20, 1e-3, false), "sotto keys revoke"))
      << WhyNotLifeEpsilon(history, 20, 1e-3, false);
  EXPECT_TRUE(Says(DescribeRecovery(history, history.jobs.back()), "11 of 12 devices have settled"))
      << DescribeRecovery(history, history.jobs.back());
  EXPECT_TRUE(Says(WhyNotForAll(history), "is not counted")) << WhyNotForAll(history);
  const std::vector<JobLedger> ledger = ReadLedger(store);
  for (const ClaimForAll& one : ClaimsForAll(ledger)) {
    EXPECT_FALSE(one.combined.claim) << one.combined.refusal;
  }
  store.RevokeDevice("small-0");
  EXPECT_EQ(WhyNotLifeEpsilon(store.ReadHistory(), 20, 1e-3, false), "");
}

// A lost job may have asked device 1 between the first copy's job and the next one.
TEST_F(RecoveredCopyTest, ASecondRecoveryForgetsNothingThatTheFirstOneHasNotBeenShown) {
  const JobConfig config = SmallPassesConfig(1, 3);
  const privacy::Turns turn = privacy::TurnIn(config.plan, 0);
  SqlStore(path_).RaiseLifeEpsilon(
      LifeEpsilonFor(turn + turn + turn, 1e-3, config.plan.certificate), 1e-3);
  Rounds(config, 3);
  Recover();
  fleet_.receipts().erase(1);
  {
    ServerStart next(path_, config, true);
    next.Open();
    fleet_.Hello(next);
    ASSERT_TRUE(next.Open());
    ASSERT_TRUE(next.job().CloseRound().released);
  }
  SqlStore store(path_);
  const auto before_job_2 = [&] {
    const History history = store.ReadHistory();
    const std::vector<privacy::SpentRounds> spent = SpentByJobsBefore(history, history.jobs[1]);
    return std::count_if(spent.begin(), spent.end(), [](const privacy::SpentRounds& each) {
      return each.turns == privacy::kUnknownTurns;
    });
  };
  ASSERT_EQ(UnshownDevices(store.ReadHistory()), std::vector<int64_t>{1});
  ASSERT_EQ(before_job_2(), 1);
  store.Recover();
  EXPECT_EQ(before_job_2(), 1) << "device 1 has shown nothing yet";
  store.Recover();
  EXPECT_EQ(before_job_2(), 1) << "whatever the number of recoveries";
  const History history = store.ReadHistory();
  EXPECT_EQ(DescribeRecovery(history, history.jobs[0]), "");
  EXPECT_NE(DescribeRecovery(history, history.jobs[1]), "") << "the last copy ends with it";
}

TEST_F(RecoveredCopyTest, ASecondRecoveryBeginsAnewOnceAllHaveShownTheirs) {
  const JobConfig config = SmallPassesConfig(3, 9);
  Rounds(config, 3);
  Recover();
  {
    ServerStart server(path_, config);
    fleet_.Hello(server);
    ASSERT_TRUE(server.Open());
  }
  SqlStore store(path_);
  store.AllowNewJob();
  store.BeginJob(OtherRecordOf(config));
  ASSERT_TRUE(UnshownDevices(store.ReadHistory()).empty());
  store.Recover();
  const Recovery recovery = *store.ReadHistory().recovery;
  EXPECT_EQ(recovery.job, 2);
  EXPECT_EQ(recovery.first_job, 2);
}

// It is asked no more, also once the life epsilon is raised, and a later job's figure has it.
TEST_F(RecoveredCopyTest, ADeviceWithoutAReceiptCountsAtTheLifeEpsilon) {
  OF_A_FILE_ONLY();
  const JobConfig config = SmallPassesConfig(1, 3);
  const privacy::Turns turn = privacy::TurnIn(config.plan, 0);
  const auto life_of = [&](const privacy::Turns& turns) {
    return LifeEpsilonFor(turns, 1e-3, config.plan.certificate);
  };
  const double life = life_of(turn + turn + turn);
  SqlStore(path_).RaiseLifeEpsilon(life, 1e-3);
  Rounds(config, 2);
  CopyTo(".old");
  Rounds(config, 1);
  Restore(".old");
  Recover();
  for (const int64_t device : {1, 2, 3}) fleet_.receipts().erase(device);
  const double raised = life_of(turn + turn + turn + turn);
  ASSERT_EQ(WhyNotLifeEpsilon(SqlStore(path_).ReadHistory(), raised, 1e-3, false), "");
  SqlStore(path_).RaiseLifeEpsilon(raised, 1e-3);
  ServerStart server(path_, config, true);
  EXPECT_FALSE(server.Open());
  fleet_.Hello(server);
  // What the lost round took of four devices counts in this job, so one round has enough others.
  ASSERT_TRUE(server.Open());
  for (const uint32_t index : server.job().cohort()) {
    EXPECT_GT(server.devices().NumberOf(index), 3);
  }
  fleet_.Hello(server);
  fleet_.Close(server);
  const History history = server.store().ReadHistory();
  const TurnsByDevice most = TurnsAtMost(history);
  const privacy::Turns cap = CapOf(history, config.plan.certificate).value();
  for (const int64_t device : {1, 2, 3}) EXPECT_GE(most.at(device).mu_squared, cap.mu_squared);
  const privacy::Claim claim = server.job().SpentAfter(1, 1).Headline();
  EXPECT_GE(claim.epsilon, life * 0.99);
  EXPECT_LE(claim.epsilon, raised);
}

TEST_F(RecoveredCopyTest, WhatDevicesShowedIsARecord) {
  OF_A_FILE_ONLY();
  Rounds(SmallPassesConfig(), 1);
  Recover();
  {
    ServerStart server(path_);
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    EXPECT_TRUE(server.Open()) << "of the four that have a receipt";
  }
  CopyTo(".sound");
  RunSql("UPDATE settled SET turns = 0, mu_squared = 1");
  EXPECT_TRUE(Says(Refusal(), "showed after recovery 1, is not as it was written")) << Refusal();
  Restore(".sound");
  RunSql("UPDATE recoveries SET last_device = 0");
  EXPECT_TRUE(Says(Refusal(), "recovery number 1, is not as it was written")) << Refusal();
  Restore(".sound");
  RunSql("DELETE FROM settled WHERE device = (SELECT max(device) FROM settled)");
  EXPECT_NE(Refusal(), "nothing was refused");
}

// Random lives: rounds, deaths with an open attempt, copies at any moment, restores that are
// adopted. What a device really took part in is counted outside of all stores.
class RandomCopies {
 public:
  // loses  devices lose receipts, and jobs of several kinds begin
  RandomCopies(std::string path, uint32_t seed, bool loses = false)
      : path_(std::move(path)), random_(seed), loses_(loses) {}

  void Step() {
    if (loses_ && Below(3) == 0) fleet_.receipts().erase(1 + Below(kSmallDevices));
    switch (Below(5)) {
      case 0:
        Copy();
        return;
      case 1:
        if (!copies_.empty()) Restore();
        return;
      default:
        Serve();
    }
  }

  KeepingFleet& fleet() { return fleet_; }
  int restores() const { return restores_; }

 private:
  uint32_t Below(uint32_t end) {
    return std::uniform_int_distribution<uint32_t>(0, end - 1)(random_);
  }

  // Of the last job.
  JobConfig ConfigNow() const {
    JobConfig config = SmallPassesConfig(3, 9);
    const History history = SqlStore(path_).ReadHistory();
    if (history.jobs.empty()) return config;
    const privacy::Plan plan = PlanOf(history, history.jobs.back());
    return SmallPassesConfig(plan.participations, plan.rounds);
  }

  void Copy() {
    copies_.push_back(path_ + "." + std::to_string(copies_.size()));
    std::filesystem::copy_file(path_, copies_.back(),
                               std::filesystem::copy_options::overwrite_existing);
  }

  void Restore() {
    std::filesystem::copy_file(copies_[Below(static_cast<uint32_t>(copies_.size()))], path_,
                               std::filesystem::copy_options::overwrite_existing);
    SqlStore(path_).Recover();
    ++restores_;
  }

  void Serve() {
    const bool is_new = loses_ && Below(3) == 0;
    const int64_t turns = loses_ ? 1 + Below(3) : 3;
    std::unique_ptr<ServerStart> start;
    try {
      start = std::make_unique<ServerStart>(
          path_, is_new ? SmallPassesConfig(turns, 3 * turns) : ConfigNow(), is_new);
    } catch (const std::invalid_argument&) {
      return;  // no room for a cohort
    }
    ServerStart& server = *start;
    for (uint32_t rounds = 1 + Below(3); rounds > 0; --rounds) {
      fleet_.Hello(server);
      if (!server.Open()) return;
      if (Below(3) == 0) Copy();
      fleet_.Hello(server);
      if (Below(4) == 0) return fleet_.Forget();  // the server dies
      if (Below(4) == 0) Copy();
      fleet_.Close(server);
    }
  }

  const std::string path_;
  std::mt19937 random_;
  const bool loses_;
  KeepingFleet fleet_;
  std::vector<std::string> copies_;
  int restores_ = 0;
};

TEST_F(RecoveredCopyTest, NoHistoryOfCopiesTakesADeviceBeyondItsTurns) {
  OF_A_FILE_ONLY();
  CopyTo(".first");
  int restores = 0;
  int full = 0;
  for (uint32_t seed = 1; seed <= 3; ++seed) {
    Restore(".first");
    RandomCopies life(path_, seed);
    for (int step = 0; step < 14; ++step) life.Step();
    for (const auto& [device, turns] : life.fleet().turns()) {
      EXPECT_LE(turns, 3) << "device " << device << ", seed " << seed;
      full += turns == 3 ? 1 : 0;
    }
    EXPECT_GT(InspectStore(path_).records, 0);
    restores += life.restores();
  }
  EXPECT_GT(restores, 0);
  EXPECT_GT(full, 0) << "the limit is reached";
}

// Devices lose their receipts, later jobs are lost with their stores, and what is true is counted
// outside. No total, of any device at any moment, is below it.
TEST_F(RecoveredCopyTest, NoTotalIsEverBelowTheTruth) {
  OF_A_FILE_ONLY();
  const privacy::Turns turn = privacy::TurnIn(SmallPassesConfig().plan, 0);
  privacy::Turns life;
  for (int i = 0; i < 5; ++i) life = life + turn;
  SqlStore(path_).RaiseLifeEpsilon(LifeEpsilonFor(life, 1e-3, SmallConfig().plan.certificate),
                                   1e-3);
  CopyTo(".first");
  int unshown = 0;
  int above = 0;
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    Restore(".first");
    RandomCopies copies(path_, seed, true);
    for (int step = 0; step < 16; ++step) {
      copies.Step();
      const History history = SqlStore(path_).ReadHistory();
      unshown += static_cast<int>(UnshownDevices(history).size());
      const TurnsByDevice recorded = TurnsBefore(history, nullptr);
      const TurnsByDevice most = TurnsAtMost(history);
      // A copy that nobody has recovered yet says nothing of what came after it.
      if (copies.restores() == 0 && step == 0) continue;
      for (const auto& [device, truth] : copies.fleet().truth()) {
        const auto found = most.find(device);
        const privacy::Turns total = found == most.end() ? privacy::Turns() : found->second;
        EXPECT_GE(total.mu_squared, truth.mu_squared * (1 - 1e-9)) << device << ", seed " << seed;
        EXPECT_GE(total.coordinates, truth.coordinates) << device << ", seed " << seed;
        EXPECT_LE(truth.mu_squared, 5 * turn.mu_squared * (1 + 1e-6)) << device;
        const auto held = recorded.find(device);
        above += held == recorded.end() || held->second.mu_squared < truth.mu_squared ? 1 : 0;
      }
    }
    EXPECT_GT(copies.restores(), 0) << seed;
  }
  EXPECT_GT(unshown, 0) << "some devices count at the cap";
  EXPECT_GT(above, 0) << "the records alone would be below the truth";
}

}  // namespace
}  // namespace sotto::server
