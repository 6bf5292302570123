// Tests of devices that settle on a recovered store while no job runs, or while one waits for them.
#include <cstdint>
#include <gtest/gtest.h>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "jobs/job_queue.h"
#include "plans/turns.h"
#include "store/recovery.h"
#include "unit/server/recovered_copy.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

// Only uniform draws before the copy, so no job goes on. Otherwise none could ever begin.
TEST_F(RecoveredCopyTest, DevicesSettleWhileNoJobRuns) {
  OF_A_FILE_ONLY();
  {
    ServerStart server(path_, SmallConfig());
    ASSERT_TRUE(server.Open());
    fleet_.Hello(server);
    fleet_.Close(server);
    CopyTo(".old");
    for (int round = 1; round < 3; ++round) {
      ASSERT_TRUE(server.Open());
      fleet_.Hello(server);
      fleet_.Close(server);
    }
  }
  Restore(".old");
  Recover();
  SqlStore store(path_);
  EXPECT_EQ(store.Settle(), nullptr) << "nothing is loaded";
  store.LoadReceipts();
  const std::string before = WhyUnbounded(store.ReadHistory());
  EXPECT_TRUE(Says(before, "12 devices") && Says(before, "small-0") && Says(before, "2 more"))
      << before;
  EXPECT_TRUE(Says(before, "settles as soon as it connects")) << before;
  std::vector<int64_t> without;
  for (int64_t device = 1; device <= kSmallDevices; ++device) {
    const std::vector<uint8_t>& receipt = fleet_.receipts()[device];
    store.CheckReceipt({receipt.data(), receipt.size()}, device);
    if (receipt.empty()) without.push_back(device);  // that were never drawn
  }
  ASSERT_NE(store.Settle(), nullptr);
  const History history = store.ReadHistory();
  EXPECT_EQ(UnshownDevices(history), without);
  const TurnsByDevice most = TurnsAtMost(history);
  for (const auto& [device, truth] : fleet_.truth()) {
    EXPECT_GE(most.at(device).count, truth.count) << device;
    EXPECT_GE(most.at(device).mu_squared, truth.mu_squared * (1 - 1e-12)) << device;
  }
  for (const int64_t device : without) store.RevokeDevice("small-" + std::to_string(device - 1));
  const History all = store.ReadHistory();
  EXPECT_EQ(WhyUnbounded(all), "") << "a job of passes may begin";
  const std::string count = std::to_string(kSmallDevices - without.size());
  const std::string shown = DescribeRecovery(all, all.jobs.back());
  EXPECT_TRUE(Says(shown, count + " of " + count + " devices have settled")) << shown;
}

TEST_F(RecoveredCopyTest, AServerWithoutAJobNoticesAnOlderCopy) {
  OF_A_FILE_ONLY();
  SqlStore(path_).RaiseLifeEpsilon(100, 1e-3);
  CopyTo(".empty");
  Rounds(SmallPassesConfig(1, 3), 3);
  CopyTo(".old");
  {
    ServerStart next(path_, SmallPassesConfig(1, 3), true);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(next.Open());
      fleet_.Hello(next);
      fleet_.Close(next);
    }
  }
  const std::vector<uint8_t> receipt = fleet_.receipts()[1];
  const auto show = [&] {
    SqlStore store(path_);
    store.LoadReceipts();
    store.CheckReceipt({receipt.data(), receipt.size()}, 1);
  };
  EXPECT_NO_THROW(show());
  for (const char* copy : {".old", ".empty"}) {
    Restore(copy);
    EXPECT_THROW(show(), StaleLog) << copy;
  }
  Recover();
  EXPECT_NO_THROW(show()) << "it settles when a job has begun";
}

// Device 13 joined after the only job that the copy has, and a lost job asked it.
TEST_F(RecoveredCopyTest, TurnsOfALostJobCountForADeviceThatIsInNoOther) {
  OF_A_FILE_ONLY();
  SqlStore(path_).RaiseLifeEpsilon(100, 1e-3);
  Rounds(SmallPassesConfig(1, 3), 3);
  Device later{"later", {}};
  later.secret.bytes[29] = 1;
  SqlStore(path_).AddDevices({later}, false);
  CopyTo(".old");
  {
    ServerStart next(path_, SmallPassesConfig(1, 3), true);
    for (int round = 0; round < 3; ++round) {
      ASSERT_TRUE(next.Open());
      fleet_.Hello(next);
      fleet_.Close(next);
    }
  }
  fleet_.receipts()[kSmallDevices + 1] = fleet_.receipts()[1];  // as if it had been drawn, too
  Restore(".old");
  Recover();
  SqlStore store(path_);
  store.LoadReceipts();
  const std::vector<uint8_t>& receipt = fleet_.receipts()[kSmallDevices + 1];
  store.CheckReceipt({receipt.data(), receipt.size()}, kSmallDevices + 1);
  ASSERT_NE(store.Settle(), nullptr);
  for (uint32_t i = 0; i < kSmallDevices; ++i) store.RevokeDevice("small-" + std::to_string(i));
  const std::vector<privacy::SpentRounds> spent = SpentBefore(store.ReadHistory(), nullptr);
  int64_t turns = 0;
  for (const privacy::SpentRounds& each : spent) turns += each.turns.value_or(0);
  EXPECT_GE(turns, 2) << "its receipt has two";
}

// All have had their one turn; the copy knows of four only.
TEST_F(RecoveredCopyTest, AJobIsNotOverWhileDevicesMustShowWhetherTheyHaveTurns) {
  OF_A_FILE_ONLY();
  const JobConfig config = SmallPassesConfig(1, 3);
  Rounds(config, 1);
  CopyTo(".old");
  Rounds(config, 2);
  Restore(".old");
  Recover();
  ServerStart server(path_, config);
  EXPECT_FALSE(server.Open());
  std::vector<uint32_t> late;  // with a turn left, as far as the copy knows
  std::map<std::string, int64_t> used;
  for (const DeviceTurns& device : Turns().devices) used[device.id] = device.used;
  for (uint32_t i = 0; i < kSmallDevices; ++i) {
    const bool is_late = late.size() < 2 && used["small-" + std::to_string(i)] == 0;
    if (is_late) {
      late.push_back(i);
    } else if (used["small-" + std::to_string(i)] == 0) {
      fleet_.HelloOf(server, i);  // those that have had it in the copy stay away
    }
  }
  EXPECT_EQ(server.job().WaitingNow(), "") << "what they have shown is to be recorded";
  EXPECT_FALSE(server.Open());
  EXPECT_NE(server.job().phase(), Job::Phase::kFinished) << server.job().finish_reason();
  EXPECT_TRUE(Says(server.job().waiting_for(), "2 devices must first show a receipt"))
      << server.job().waiting_for();
  EXPECT_EQ(server.job().WaitingNow(), server.job().waiting_for());
  for (const uint32_t index : late) fleet_.HelloOf(server, index);
  EXPECT_EQ(server.job().WaitingNow(), "");
  EXPECT_FALSE(server.Open());
  EXPECT_EQ(server.job().end(), Halt::kNoTurns);
  // The reason, the status and `sotto job resume` say the same.
  EXPECT_TRUE(Says(server.job().finish_reason(), "0 devices of the 4"))
      << server.job().finish_reason();
  EXPECT_EQ(TurnsToJson(Turns())["with_a_turn_left"], 0);
  const History history = server.store().ReadHistory();
  EXPECT_TRUE(Says(WhyNotReopened(history, history.jobs.back()), "0 of the 4 devices"))
      << WhyNotReopened(history, history.jobs.back());
}

}  // namespace
}  // namespace sotto::server
