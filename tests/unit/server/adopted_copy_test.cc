// Tests of an older copy of a store that was adopted: what the copy has lost is charged to each
// device by its receipt, and nobody gets a turn beyond its limits.
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

#include "plans/turns.h"
#include "store/open_store.h"
#include "unit/server/server_start.h"
#include "views/turns_output.h"

namespace sotto::server {
namespace {

// Devices that keep their receipts, and the turns that they have really had: attempts whose task
// they got and whose sum was read.
class KeepingFleet {
 public:
  // All say Hello. Those that are drawn get their tasks.
  void Hello(ServerStart& server, bool keeps = true) {
    for (uint32_t i = 0; i < server.devices().size(); ++i) HelloOf(server, i, keeps);
  }

  void HelloOf(ServerStart& server, uint32_t index, bool keeps = true) {
    const int64_t device = server.devices().NumberOf(index);
    Request hello;
    hello.kind = Request::Kind::kHello;
    hello.version = kProtocolVersion;
    uint8_t digest[kSha256Size] = {};
    ASSERT_EQ(ModelDigest(*server.job().config().model, digest), Status::kOk);
    hello.model_digest = digest;
    hello.receipt = {receipts_[device].data(), receipts_[device].size()};
    const Reply reply = server.job().Answer(index, hello);
    if (reply.kind != Reply::Kind::kTrain) return;
    EXPECT_EQ(reply.receipt.size(), kReceiptSize);
    if (keeps) receipts_[device].assign(reply.receipt.begin(), reply.receipt.end());
    trains_.insert(device);
  }

  // Releases the open attempt.
  void Close(ServerStart& server) {
    EXPECT_TRUE(server.job().CloseRound().released);
    for (const int64_t device : trains_) ++turns_[device];
    trains_.clear();
  }

  void Forget() { trains_.clear(); }  // the open attempt: its server died

  std::map<int64_t, int>& turns() { return turns_; }
  std::map<int64_t, std::vector<uint8_t>>& receipts() { return receipts_; }

 private:
  std::map<int64_t, std::vector<uint8_t>> receipts_;
  std::map<int64_t, int> turns_;
  std::set<int64_t> trains_;
};

class AdoptedCopyTest : public SqliteStoreTest {
 protected:
  void SetUp() override {
    SqliteStoreTest::SetUp();
    SqliteStore store(path_, kCreate);
    store.AddDevices(SomeDevices(), false);
  }

  void CopyTo(const std::string& name) const {
    std::filesystem::copy_file(path_, path_ + name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  void Restore(const std::string& name) const {
    std::filesystem::copy_file(path_ + name, path_,
                               std::filesystem::copy_options::overwrite_existing);
  }
  void Adopt() const { SqliteStore(path_).AdoptCopy(); }

  // So many rounds of all devices.
  void Rounds(const JobConfig& config, int rounds) {
    ServerStart server(path_, config);
    for (int round = 0; round < rounds; ++round) {
      ASSERT_TRUE(server.Open());
      fleet_.Hello(server);
      fleet_.Close(server);
    }
  }

  JobTurns Turns() const {
    SqliteStore store(path_);
    const History history = store.ReadHistory();
    return TurnsOf(history, *LastJob(history));
  }

  KeepingFleet fleet_;
};

TEST_F(AdoptedCopyTest, IsRefusedUntilItIsAdopted) {
  Rounds(SmallPassesConfig(), 1);
  CopyTo(".old");
  Rounds(SmallPassesConfig(), 2);
  Restore(".old");
  {
    ServerStart server(path_);
    EXPECT_THROW(fleet_.Hello(server), StaleLog);
  }
  Adopt();
  ServerStart server(path_);
  EXPECT_FALSE(server.Open()) << "nobody has settled";
  EXPECT_TRUE(Says(server.job().waiting_for(), "12 devices must first show a receipt"))
      << server.job().waiting_for();
  fleet_.Hello(server);
  EXPECT_EQ(server.job().WaitingNow(), "") << "they have shown theirs";
  ASSERT_TRUE(server.Open());
}

// Round 0 is in the copy; rounds 1 and 2 are lost. So all have had their first turn.
TEST_F(AdoptedCopyTest, ChargesEachDeviceForWhatItsReceiptShows) {
  Rounds(SmallPassesConfig(), 1);
  CopyTo(".old");
  Rounds(SmallPassesConfig(), 2);
  Restore(".old");
  Adopt();
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
    SqliteStore store(path_);  // to a later job its two turns are known
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

TEST_F(AdoptedCopyTest, ADeviceWithoutAGenuineReceiptIsNotAsked) {
  Rounds(SmallPassesConfig(4, 12), 3);
  CopyTo(".old");
  Rounds(SmallPassesConfig(4, 12), 1);
  Restore(".old");
  Adopt();
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

TEST_F(AdoptedCopyTest, ADeviceThatWasRegisteredLaterNeedsNoReceipt) {
  Rounds(SmallPassesConfig(), 1);
  Adopt();
  std::vector<Device> later;
  for (uint8_t i = 0; i < 4; ++i) {
    later.push_back({"later-" + std::to_string(i), {}});
    later.back().secret.bytes[29] = static_cast<uint8_t>(i + 1);
  }
  SqliteStore(path_).AddDevices(later, false);
  ServerStart server(path_);
  EXPECT_FALSE(server.Open());
  for (uint32_t index = kSmallDevices; index < kSmallDevices + 4; ++index) {
    fleet_.HelloOf(server, index);
  }
  ASSERT_TRUE(server.Open());
  EXPECT_EQ(server.job().cohort(), (std::vector<uint32_t>{12, 13, 14, 15}));
}

// The copy was made between the draw and the seal of an attempt, which the original released.
TEST_F(AdoptedCopyTest, AKnownAttemptThatWasSealedAfterTheCopyIsCharged) {
  {
    ServerStart server(path_, SmallPassesConfig(1, 3));
    ASSERT_TRUE(server.Open());
    CopyTo(".old");
    fleet_.Hello(server);
    fleet_.Close(server);
  }
  Restore(".old");
  Adopt();
  ServerStart server(path_, SmallPassesConfig(1, 3));
  EXPECT_FALSE(server.Open());
  fleet_.Hello(server);
  EXPECT_FALSE(server.Open());
  int used = 0;
  for (const DeviceTurns& device : Turns().devices) used += static_cast<int>(device.used);
  EXPECT_EQ(used, 4);
}

TEST_F(AdoptedCopyTest, AnOlderCopyOfAnAdoptedOneIsRefusedAgain) {
  Rounds(SmallPassesConfig(4, 12), 3);
  CopyTo(".old");
  Rounds(SmallPassesConfig(4, 12), 1);
  Restore(".old");
  Adopt();
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

TEST_F(AdoptedCopyTest, OtherSamplingsAndFixedOrdersAreRefused) {
  Adopt();
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

// Turns of a lost job with other costs count in the life limit, rounded up.
TEST_F(AdoptedCopyTest, ALostJobCountsInTheLifeLimit) {
  const JobConfig config = SmallPassesConfig(1, 3);
  JobConfig loud = config;
  loud.plan.noise_sigma /= 2;
  loud.plan = RoundToDevice(loud.plan);
  const privacy::Turns turn = privacy::TurnIn(config.plan, 0);
  const privacy::Turns costly = privacy::TurnIn(loud.plan, 0);
  SqliteStore(path_).RaiseLifeEpsilon(
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
  Adopt();
  {
    ServerStart server(path_, SmallPassesConfig(3, 9), true);
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    server.Open();
  }
  SqliteStore store(path_);
  const TurnsByDevice used = TurnsBefore(store.ReadHistory(), nullptr);
  EXPECT_EQ(used.size(), kSmallDevices);
  for (const auto& [device, turns] : used) {
    EXPECT_EQ(turns.count, 2) << device;
    const double least = turn.mu_squared + costly.mu_squared;
    EXPECT_GE(turns.mu_squared, least * (1 - 1e-12));
    EXPECT_LE(turns.mu_squared, least * (1 + 1e-6));
  }
}

TEST_F(AdoptedCopyTest, WhatDevicesShowedIsARecord) {
  Rounds(SmallPassesConfig(), 1);
  Adopt();
  {
    ServerStart server(path_);
    EXPECT_FALSE(server.Open());
    fleet_.Hello(server);
    EXPECT_TRUE(server.Open()) << "of the four that have a receipt";
  }
  CopyTo(".sound");
  RunSql("UPDATE settled SET turns = 0, mu_squared = 1");
  EXPECT_TRUE(Says(Refusal(), "showed after adoption 1, is not as it was written")) << Refusal();
  Restore(".sound");
  RunSql("UPDATE adoptions SET last_device = 0");
  EXPECT_TRUE(Says(Refusal(), "adoption number 1, is not as it was written")) << Refusal();
  Restore(".sound");
  RunSql("DELETE FROM settled WHERE device = (SELECT max(device) FROM settled)");
  EXPECT_NE(Refusal(), "nothing was refused");
}

// Random lives: rounds, deaths with an open attempt, copies at any moment, restores that are
// adopted. What a device really took part in is counted outside of all stores.
class RandomCopies {
 public:
  RandomCopies(std::string path, uint32_t seed) : path_(std::move(path)), random_(seed) {}

  void Step() {
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

  void Copy() {
    copies_.push_back(path_ + "." + std::to_string(copies_.size()));
    std::filesystem::copy_file(path_, copies_.back(),
                               std::filesystem::copy_options::overwrite_existing);
  }

  void Restore() {
    std::filesystem::copy_file(copies_[Below(static_cast<uint32_t>(copies_.size()))], path_,
                               std::filesystem::copy_options::overwrite_existing);
    SqliteStore(path_).AdoptCopy();
    ++restores_;
  }

  void Serve() {
    ServerStart server(path_, SmallPassesConfig(3, 9));
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
  KeepingFleet fleet_;
  std::vector<std::string> copies_;
  int restores_ = 0;
};

TEST_F(AdoptedCopyTest, NoHistoryOfCopiesTakesADeviceBeyondItsTurns) {
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

}  // namespace
}  // namespace sotto::server
