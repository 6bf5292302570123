// An older copy of a store that was recovered, and devices that keep their receipts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "plans/turns.h"
#include "store/history.h"
#include "unit/server/server_start.h"

namespace sotto::server {

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
    const privacy::Plan plan = server.job().config().plan;
    const privacy::Turns turn = privacy::TurnIn(plan, server.job().round());
    EXPECT_TRUE(server.job().CloseRound().released);
    for (const int64_t device : trains_) {
      ++turns_[device];
      truth_[device] = truth_[device] + turn;
    }
    trains_.clear();
  }

  void Forget() { trains_.clear(); }  // the open attempt: its server died

  std::map<int64_t, int>& turns() { return turns_; }
  const TurnsByDevice& truth() const { return truth_; }
  std::map<int64_t, std::vector<uint8_t>>& receipts() { return receipts_; }

 private:
  std::map<int64_t, std::vector<uint8_t>> receipts_;
  std::map<int64_t, int> turns_;
  TurnsByDevice truth_;
  std::set<int64_t> trains_;
};

class RecoveredCopyTest : public StoredTest {
 protected:
  void SetUp() override {
    StoredTest::SetUp();
    SqlStore store(path_, kCreate);
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
  void Recover() const { SqlStore(path_).Recover(); }

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
    SqlStore store(path_);
    const History history = store.ReadHistory();
    return TurnsOf(history, *LastJob(history));
  }

  KeepingFleet fleet_;
};

}  // namespace sotto::server
