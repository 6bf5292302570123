// The ledger of updates with private noise: its record, what a damaged one does, and its rho.
#include "sotto/update_ledger.h"

#include <cmath>
#include <gtest/gtest.h>

#include "unit/sdk/hex.h"
#include "unit/sdk/memory_store.h"

namespace sotto {
namespace {

// A task of this multiplier, as exactly as the format can: z = q s / (2^21 C).
TrainTask TaskOf(uint32_t private_noise_q20, float scale = 1.0f, float clip = 1.0f) {
  TrainTask task;
  task.private_noise_q20 = private_noise_q20;
  task.quantizer_scale = scale;
  task.training.clip_l2 = clip;
  return task;
}

struct UpdateLedgerTest : testing::Test {
  Status LoadTotal() { return ledger.load(ledger.store, &total); }
  Status Charge(const TrainTask& task) { return ledger.charge(ledger.store, task, &total); }
  std::vector<uint8_t>& record() { return memory.records[StoreSlot::kClient]; }

  MemoryStore memory;
  UpdateLedger ledger = LedgerIn(memory.store());
  PrivateSpending total;
};

TEST_F(UpdateLedgerTest, ItCountsOverResets) {
  ASSERT_EQ(LoadTotal(), Status::kOk);
  EXPECT_EQ(total.updates, 0u);
  for (uint32_t updates = 1; updates < 5; ++updates) {
    ASSERT_EQ(Charge(TaskOf(1 << 20)), Status::kOk);  // z = 1/2, rho = 2
    total = {};
    ASSERT_EQ(LoadTotal(), Status::kOk);
    EXPECT_EQ(total.updates, updates);
    EXPECT_EQ(total.rho_q32, updates * (uint64_t{2} << 32));
  }
}

// The record's bytes are stored on devices: they never change. Computed by another program,
// sha256sum.
TEST_F(UpdateLedgerTest, ItsRecordIsThatOfVersion1) {
  ASSERT_EQ(Charge(TaskOf(1 << 20)), Status::kOk);
  ASSERT_EQ(record().size(), 36u);
  EXPECT_EQ(ToHex(View(record())),
            "536f557001000000010000000000000002000000db0ce8bb4b6b37b55b6bc689b195a1f3");
}

TEST_F(UpdateLedgerTest, ADamagedRecordIsNeverATotal) {
  ASSERT_EQ(Charge(TaskOf(1 << 20)), Status::kOk);
  const std::vector<uint8_t> whole = record();
  total = {77, 78};
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    record() = whole;
    record()[byte] ^= 1;
    EXPECT_EQ(LoadTotal(), Status::kMalformed) << byte;
  }
  for (size_t size = 1; size < whole.size(); ++size) {
    record().assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(LoadTotal(), Status::kMalformed) << size;
  }
  record() = whole;
  record().push_back(0);
  EXPECT_EQ(LoadTotal(), Status::kMalformed);
  EXPECT_EQ(total.updates, 77u) << "unchanged";
  EXPECT_EQ(total.rho_q32, 78u);
}

TEST_F(UpdateLedgerTest, AStoreThatFailsIsTold) {
  memory.fail_load = 0;
  EXPECT_EQ(LoadTotal(), Status::kStoreFailed);
  memory.fail_save = 0;
  EXPECT_EQ(Charge(TaskOf(1 << 20)), Status::kStoreFailed);
  EXPECT_EQ(memory.loads + memory.saves, 2) << "the faults have fired";
}

TEST_F(UpdateLedgerTest, ItStopsWhereItCannotCount) {
  total = {UINT32_MAX - 1, UINT64_MAX - 1};
  EXPECT_EQ(Charge(TaskOf(1 << 20)), Status::kOk);
  EXPECT_EQ(total.rho_q32, UINT64_MAX);
  EXPECT_EQ(Charge(TaskOf(1 << 20)), Status::kOutOfRange);
  EXPECT_EQ(total.updates, UINT32_MAX);
}

TEST(PrivateRho, IsHalfTheInverseSquareOfTheMultiplier) {
  EXPECT_EQ(PrivateRhoQ32(TaskOf(1 << 20)), uint64_t{2} << 32);  // z = 1/2
  EXPECT_EQ(PrivateRhoQ32(TaskOf(1 << 21)), uint64_t{1} << 31);  // 1
  EXPECT_EQ(PrivateRhoQ32(TaskOf(1 << 23)), uint64_t{1} << 27);  // 4
  EXPECT_EQ(PrivateRhoQ32(TaskOf(257 << 1)), 35748962761507709u) << "z = 257 / 2^20, the smallest";
  EXPECT_EQ(PrivateRhoQ32(TaskOf(1 << 9)), UINT64_MAX);
  EXPECT_EQ(PrivateRhoQ32(TaskOf(0)), UINT64_MAX);
}

// Rounded up, and by less than a step of z in Q20 and a unit.
TEST(PrivateRho, IsNeverBelowTheRealOneAndHardlyAbove) {
  for (double z = 1e-3; z < 60; z *= 1.117) {
    for (const float scale : {1.0f, 0.3f, 1.7e-3f}) {
      const float clip = scale * 1.37f;
      const TrainTask task = TaskOf(static_cast<uint32_t>(z * 0x1p21 * 1.37), scale, clip);
      const double exact_z = task.private_noise_multiplier();
      const double rho = static_cast<double>(PrivateRhoQ32(task)) * 0x1p-32;
      EXPECT_GE(rho, 0.5 / (exact_z * exact_z) * (1 - 1e-15)) << z;
      const double least_z = exact_z - 0x1p-20;
      EXPECT_LE(rho, 0.5 / (least_z * least_z) * (1 + 1e-15) + 0x1p-32) << z;
    }
  }
}

}  // namespace
}  // namespace sotto
