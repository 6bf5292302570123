// The SDK's client counts its updates with private noise over resets: charged before anything of an
// update can leave, refused above the owner's limit, and never after a store that failed.
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "sotto/client.h"
#include "unit/sdk/memory_store.h"
#include "unit/server/small_job.h"

namespace sotto::server {
namespace {

using Progress = Client::Progress;
using State = Client::State;

constexpr double kMultiplier = 0.5;
constexpr uint64_t kRho = uint64_t{2} << 32;  // of one update

JobConfig LedgerConfig(double z = kMultiplier) {
  JobConfig config = ClosingEarly(SmallConfig());
  config.plan.private_noise_multiplier = z;
  return config;
}

// A device whose memory survives resets, in a job of private noise.
struct ClientLedgerTest : testing::Test {
  explicit ClientLedgerTest(double z = kMultiplier) : small(LedgerConfig(z)) {
    EXPECT_TRUE(small.job.OpenRound());
    index = small.job.cohort()[0];
    Reset();
  }

  void Reset() {
    device = std::make_unique<SmallDevice>(small.registry[index], index, *small.job.config().model,
                                           ++starts);
    device->config.ledger = LedgerIn(memory.store());
    device->config.min_private_noise_q20 = PrivateNoiseLimitQ20(1e-3);
    device->config.most_private_updates = limit;
    is_asked = false;
  }

  Client& client() { return device->client(); }

  // Exchanges and steps until a reply brings the client into this state, or it is about to send in
  // it, or it fails.
  Status AdvanceTo(State state) {
    Progress progress = Progress::kAgain;
    for (;;) {
      if (is_asked) {
        is_asked = false;
        const Reply reply = small.job.Answer(index, client().request());
        if (Status s = client().OnReply(reply); s != Status::kOk) return s;
        if (client().state() == state) return Status::kOk;
      }
      if (Status s = client().Step(&progress); s != Status::kOk) return s;
      is_asked = progress == Progress::kSend;
      if (is_asked && client().state() == state) return Status::kOk;
    }
  }

  // What the memory holds.
  PrivateSpending Stored() {
    PrivateSpending total = {~0u, 0};
    const UpdateLedger ledger = LedgerIn(memory.store());
    EXPECT_EQ(ledger.load(ledger.store, &total), Status::kOk);
    return total;
  }

  SmallJob small;
  MemoryStore memory;
  uint32_t index = 0;
  uint32_t limit = 0;
  uint32_t starts = 0;
  bool is_asked = false;  // a request waits for its reply
  std::unique_ptr<SmallDevice> device;
};

TEST_F(ClientLedgerTest, AnUpdateIsChargedBeforeItsUploadBegins) {
  ASSERT_EQ(AdvanceTo(State::kTrain), Status::kOk);
  EXPECT_EQ(memory.saves, 0);
  ASSERT_EQ(AdvanceTo(State::kUploadBegin), Status::kOk);
  EXPECT_EQ(Stored().updates, 1u) << "the request is not sent yet";
  EXPECT_EQ(client().private_updates(), 1u);
  EXPECT_GE(Stored().rho_q32, kRho - kRho / 100000);
  EXPECT_LE(Stored().rho_q32, kRho + kRho / 100000);
  client().OnLinkLost();
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(Stored().updates, 1u);
  EXPECT_EQ(memory.saves, 1);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

TEST_F(ClientLedgerTest, ALinkThatIsCutCostsNothingMore) {
  for (int message = 0; message < 8; ++message) {
    SmallJob job(LedgerConfig());
    ASSERT_TRUE(job.job.OpenRound());
    MemoryStore store;
    const uint32_t victim = job.job.cohort()[0];
    SmallDevice each(job.registry[victim], victim, *job.job.config().model);
    each.config.ledger = LedgerIn(store.store());
    EXPECT_EQ(each.Run(job.job, victim, message), Status::kOk);
    EXPECT_EQ(each.client().private_updates(), 1u) << message;
    EXPECT_EQ(store.saves, 1) << message;
  }
}

// Nothing of the first update has left, and it counts all the same.
TEST_F(ClientLedgerTest, AResetBetweenTheChargeAndTheUploadOnlyCountsTooMuch) {
  ASSERT_EQ(AdvanceTo(State::kUploadBegin), Status::kOk);
  Reset();
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(client().private_updates(), 2u);
  EXPECT_EQ(Stored().updates, 2u);
  EXPECT_EQ(small.job.CloseRound().reported, 1u);
}

TEST_F(ClientLedgerTest, AResetBeforeTheChargeCostsNothing) {
  ASSERT_EQ(AdvanceTo(State::kTrain), Status::kOk);
  Reset();
  EXPECT_EQ(device->Run(small.job, index), Status::kOk);
  EXPECT_EQ(Stored().updates, 1u);
}

TEST_F(ClientLedgerTest, ATaskBeyondTheLimitIsRefusedAlsoAfterAReset) {
  limit = 2;
  for (uint32_t updates = 1; updates <= limit; ++updates) {
    Reset();
    ASSERT_EQ(AdvanceTo(State::kUploadBegin), Status::kOk);
    EXPECT_EQ(client().private_updates(), updates);
    EXPECT_FALSE(client().is_refused());
  }
  Reset();
  EXPECT_EQ(AdvanceTo(State::kUploadBegin), Status::kPeerRefused);
  EXPECT_TRUE(client().is_refused());
  EXPECT_EQ(client().state(), State::kHello);
  EXPECT_EQ(client().private_updates(), 2u);
  Progress progress = Progress::kAgain;
  ASSERT_EQ(client().Step(&progress), Status::kOk);
  EXPECT_EQ(progress, Progress::kWait);
  EXPECT_EQ(client().wait_ms(), kRefusedWaitMs);
  EXPECT_EQ(Stored().updates, 2u);
}

// Another object with the same record has used the limit up since the task was taken.
TEST_F(ClientLedgerTest, TheLimitHoldsWhenTheUpdateIsChargedToo) {
  limit = 1;
  Reset();
  ASSERT_EQ(AdvanceTo(State::kTrain), Status::kOk);
  const UpdateLedger other = LedgerIn(memory.store());
  PrivateSpending total;
  ASSERT_EQ(other.charge(other.store, client().task(), &total), Status::kOk);
  EXPECT_EQ(AdvanceTo(State::kUploadBegin), Status::kPeerRefused);
  EXPECT_TRUE(client().is_refused());
  EXPECT_EQ(Stored().updates, 1u);
}

TEST_F(ClientLedgerTest, ALimitNeedsALedgerAndALeastNoise) {
  limit = 1;
  Reset();
  EXPECT_EQ(device->config.Validate(), Status::kOk);
  device->config.min_private_noise_q20 = 0;
  EXPECT_EQ(device->config.Validate(), Status::kInvalidArgument);
  Reset();
  device->config.ledger = {};
  EXPECT_EQ(device->config.Validate(), Status::kInvalidArgument);
  device->config.ledger = LedgerIn({});
  EXPECT_EQ(device->config.Validate(), Status::kInvalidArgument);
}

// Each load and each save of a round in turn. No request of an upload is made after a failure, and
// the round can be served later.
TEST_F(ClientLedgerTest, AfterAStoreThatFailsNoUpdateLeaves) {
  ASSERT_EQ(AdvanceTo(State::kUploadBegin), Status::kOk);
  const int loads = memory.loads;
  ASSERT_GE(loads, 2);
  ASSERT_EQ(memory.saves, 1);
  for (int call = 0; call <= loads; ++call) {
    for (const bool keeps : {false, true}) {
      const bool is_save = call == loads;
      memory = MemoryStore();
      (is_save ? memory.fail_save : memory.fail_load) = is_save ? 0 : call;
      memory.keeps_failed = keeps;
      Reset();
      EXPECT_EQ(AdvanceTo(State::kUploadBegin), Status::kStoreFailed) << call;
      EXPECT_EQ(client().state(), State::kHello) << call;
      EXPECT_TRUE(is_save ? memory.saves == 1 : memory.loads == call + 1) << "the fault has fired";
      EXPECT_EQ(AdvanceTo(State::kUploadBegin), Status::kOk) << call;
      EXPECT_EQ(Stored().updates, is_save && keeps ? 2u : 1u) << call;
    }
  }
}

TEST_F(ClientLedgerTest, ADamagedRecordStopsTheDevice) {
  ASSERT_EQ(AdvanceTo(State::kUploadBegin), Status::kOk);
  memory.records[StoreSlot::kClient][9] ^= 1;
  Reset();
  Progress progress = Progress::kAgain;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client().Step(&progress), Status::kMalformed);
    EXPECT_EQ(progress, Progress::kAgain);
    EXPECT_EQ(client().state(), State::kHello);
  }
}

// A server that a device trusts: nothing is counted, and no limit is reached.
TEST(ClientLedger, TasksWithoutPrivateNoiseAreNotCounted) {
  SmallJob small;
  ASSERT_TRUE(small.job.OpenRound());
  MemoryStore memory;
  const uint32_t index = small.job.cohort()[0];
  SmallDevice device(small.registry[index], index, *small.job.config().model);
  device.config.ledger = LedgerIn(memory.store());
  EXPECT_EQ(device.Run(small.job, index), Status::kOk);
  EXPECT_EQ(device.client().private_updates(), 0u);
  EXPECT_EQ(memory.saves, 0);
}

// A store that was put back, or a server that does not keep to its records: it has turns again, the
// device has not.
TEST(ClientLedger, AServerThatForgetsTurnsGetsNoMoreThanTheDeviceAllows) {
  constexpr uint32_t kLimit = 2;
  JobConfig config = SmallPassesConfig(1, 3);
  config.plan.private_noise_multiplier = kMultiplier;
  MemoryStore memory;
  for (uint32_t copy = 0; copy < 4; ++copy) {
    SmallJob small(config);
    ASSERT_TRUE(small.job.OpenRound());
    const uint32_t index = small.job.cohort()[0];
    ASSERT_EQ(small.job.turns()->UsedBy(index).count, 1);
    SmallDevice device(small.registry[index], index, *config.model, copy);
    device.config.ledger = LedgerIn(memory.store());
    device.config.min_private_noise_q20 = PrivateNoiseLimitQ20(kMultiplier);
    device.config.most_private_updates = kLimit;
    const bool has_room = copy < kLimit;
    EXPECT_EQ(device.Run(small.job, index), has_room ? Status::kOk : Status::kPeerRefused) << copy;
    EXPECT_EQ(device.client().is_refused(), !has_room) << copy;
    EXPECT_EQ(device.client().private_updates(), has_room ? copy + 1 : kLimit);
    EXPECT_EQ(small.job.CloseRound().reported, has_room ? 1u : 0u) << copy;
  }
  EXPECT_EQ(memory.saves, int{kLimit});
}

// The total bounds what the server learns over jobs of different noise: rho adds up.
TEST(ClientLedger, TheTotalRhoIsTheSumOverJobsOfDifferentNoise) {
  MemoryStore memory;
  double expected = 0;
  uint32_t jobs = 0;
  PrivateSpending total;
  for (const double z : {0.5, 1.0, 2.5}) {
    SmallJob small(LedgerConfig(z));
    ASSERT_TRUE(small.job.OpenRound());
    const uint32_t index = small.job.cohort()[0];
    SmallDevice device(small.registry[index], index, *small.job.config().model);
    device.config.ledger = LedgerIn(memory.store());
    EXPECT_EQ(device.Run(small.job, index), Status::kOk);
    expected += 1 / (2 * z * z);
    total = device.client().private_spending();
    EXPECT_EQ(total.updates, ++jobs);
  }
  EXPECT_NEAR(static_cast<double>(total.rho_q32) * 0x1p-32, expected, 1e-4);
}

}  // namespace
}  // namespace sotto::server
