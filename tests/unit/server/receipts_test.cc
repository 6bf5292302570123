// Tests of receipts: which ones show that a store is an older copy, and which ones do not count.
#include "round/receipts.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "unit/sdk/hex.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

constexpr uint8_t kJob[kJobIdSize] = {1};
constexpr uint8_t kOtherJob[kJobIdSize] = {2};
constexpr uint8_t kRecord[kSha256Size] = {3};
constexpr uint8_t kOtherRecord[kSha256Size] = {4};
const privacy::Turns kThreeTurns = {3, 0.7, 78500.0, 1e-9};

Key KeyOf(uint8_t byte) {
  Key key;
  key.bytes[0] = byte;
  return key;
}

std::vector<uint8_t> Copy(ByteSpan receipt) { return {receipt.begin(), receipt.end()}; }

// A log with the attempts 0 and 1 at round 0 and the attempt 0 at round 1.
void AddThree(Receipts& receipts) {
  receipts.Add(kJob, 0, 0, kRecord);
  receipts.Add(kJob, 0, 1, kRecord);
  receipts.Add(kJob, 1, 0, kRecord);
}

TEST(Receipts, OfAttemptsThatTheLogHoldsAreFine) {
  Receipts receipts(KeyOf(1));
  AddThree(receipts);
  receipts.Check({});
  for (const uint32_t attempt : {0U, 1U}) {
    const ByteSpan receipt = receipts.Of(kJob, 0, attempt, 7, kThreeTurns);
    EXPECT_EQ(receipt.size(), kReceiptSize);
    receipts.Check(receipt);
  }
  EXPECT_TRUE(receipts.Of(kJob, 7, 0, 7, kThreeTurns).empty());
  EXPECT_EQ(receipts.ignored(), 0u);
}

TEST(Receipts, OfAnAttemptThatTheLogDoesNotHoldStopTheServer) {
  Receipts complete(KeyOf(1));
  AddThree(complete);
  complete.Add(kOtherJob, 0, 0, kRecord);
  Receipts older(KeyOf(1));
  older.Add(kJob, 0, 0, kRecord);
  older.Check(complete.Of(kJob, 0, 0, 7, kThreeTurns));
  EXPECT_THROW(older.Check(complete.Of(kJob, 0, 1, 7, kThreeTurns)), StaleLog);
  EXPECT_THROW(older.Check(complete.Of(kJob, 1, 0, 7, kThreeTurns)), StaleLog);
  EXPECT_THROW(older.Check(complete.Of(kOtherJob, 0, 0, 7, kThreeTurns)), StaleLog);
}

// An older copy that has gone on since has other records at the same numbers.
TEST(Receipts, OfAnotherContinuationOfTheLogStopTheServer) {
  Receipts one(KeyOf(1));
  one.Add(kJob, 0, 0, kRecord);
  Receipts other(KeyOf(1));
  other.Add(kJob, 0, 0, kOtherRecord);
  EXPECT_THROW(other.Check(one.Of(kJob, 0, 0, 7, kThreeTurns)), StaleLog);
}

TEST(Receipts, MadeUpOnesAreCountedAndStopNothing) {
  Receipts receipts(KeyOf(1));
  AddThree(receipts);
  Receipts stranger(KeyOf(2));
  stranger.Add(kJob, 9, 9, kRecord);
  receipts.Check(stranger.Of(kJob, 9, 9, 7, kThreeTurns));
  const std::vector<uint8_t> genuine = Copy(receipts.Of(kJob, 1, 0, 7, kThreeTurns));
  uint64_t ignored = 1;
  for (size_t bit = 0; bit < 8 * genuine.size(); ++bit) {
    std::vector<uint8_t> changed = genuine;
    changed[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
    receipts.Check(View(changed));
    EXPECT_EQ(receipts.ignored(), ++ignored) << "bit " << bit;
  }
  for (size_t size = 1; size <= kMaxReceiptSize; ++size) {
    std::vector<uint8_t> resized = genuine;
    if (size == genuine.size()) continue;
    resized.resize(size);
    receipts.Check(View(resized));
    EXPECT_EQ(receipts.ignored(), ++ignored) << "size " << size;
  }
}

TEST(Receipts, TellNothingOfARecordWithoutTheKey) {
  Receipts one(KeyOf(1));
  Receipts other(KeyOf(2));
  for (Receipts* receipts : {&one, &other}) receipts->Add(kJob, 0, 0, kRecord);
  const std::vector<uint8_t> a = Copy(one.Of(kJob, 0, 0, 7, kThreeTurns));
  const std::vector<uint8_t> b = Copy(other.Of(kJob, 0, 0, 7, kThreeTurns));
  EXPECT_EQ(std::vector<uint8_t>(a.begin(), a.begin() + 25),
            std::vector<uint8_t>(b.begin(), b.begin() + 25));
  EXPECT_NE(std::vector<uint8_t>(a.begin() + 25, a.begin() + 33),
            std::vector<uint8_t>(b.begin() + 25, b.begin() + 33));
}

TEST(Receipts, CarryTheTurnsOfADeviceRoundedUp) {
  Receipts receipts(KeyOf(1));
  AddThree(receipts);
  const privacy::Turns odd = {4, 1.0 / 3, 16777217.0, 1e-40};
  const std::vector<uint8_t> one = Copy(receipts.Of(kJob, 1, 0, 1, kThreeTurns));
  const std::vector<uint8_t> two = Copy(receipts.Of(kJob, 1, 0, 2, odd));
  EXPECT_EQ(one, Copy(receipts.Of(kJob, 1, 0, 1, odd))) << "the same in one attempt";
  const Receipts::Seen seen = receipts.Read(View(two));
  EXPECT_TRUE(seen.is_genuine && seen.is_known);
  EXPECT_TRUE(std::equal(std::begin(kJob), std::end(kJob), seen.job_id.begin()));
  ASSERT_TRUE(seen.turns);
  EXPECT_EQ(seen.turns->count, 4);
  EXPECT_GE(seen.turns->mu_squared, odd.mu_squared);
  EXPECT_NEAR(seen.turns->mu_squared, odd.mu_squared, 1e-7);
  EXPECT_EQ(seen.turns->coordinates, 16777218.0);
  EXPECT_GE(seen.turns->too_long, odd.too_long);
  EXPECT_EQ(receipts.Read(View(one)).turns->count, 3);
  const privacy::Turns noiseless = {1, std::numeric_limits<double>::infinity(), 0, 0};
  EXPECT_TRUE(std::isinf(receipts.Read(receipts.Of(kJob, 1, 0, 3, noiseless)).turns->mu_squared));
  const privacy::Turns many = {1 << 20, 0.5, 0, 0};
  EXPECT_FALSE(receipts.Read(receipts.Of(kJob, 1, 0, 4, many)).turns) << "it cannot say how many";
}

// What an earlier build gave: the name and the tag, then the MAC.
std::vector<uint8_t> FormerReceipt(const Key& key, std::vector<uint8_t> receipt) {
  receipt.resize(kFormerReceiptSize);
  receipt[0] = 1;
  HmacSha256 hmac(posix::DeriveKey(key, key_label::kReceipt, 1).bytes);
  uint8_t mac[kSha256Size] = {};
  EXPECT_EQ(hmac.Update(ByteSpan(receipt.data(), 33)), Status::kOk);
  EXPECT_EQ(hmac.Finish(mac), Status::kOk);
  std::copy_n(mac, 16, receipt.begin() + 33);
  return receipt;
}

TEST(Receipts, OfTheFormerFormatAreKnownOrStaleAndHaveNoTurns) {
  Receipts receipts(KeyOf(1));
  AddThree(receipts);
  std::vector<uint8_t> former =
      FormerReceipt(KeyOf(1), Copy(receipts.Of(kJob, 1, 0, 7, kThreeTurns)));
  const Receipts::Seen seen = receipts.Read(View(former));
  EXPECT_TRUE(seen.is_genuine && seen.is_known && !seen.turns);
  Receipts older(KeyOf(1));
  EXPECT_THROW(older.Check(View(former)), StaleLog);
  former[40] ^= 1;
  older.Check(View(former));
  EXPECT_EQ(older.ignored(), 1u);
}

class StoreReceiptsTest : public StoredTest {
 protected:
  void Begin(SqlStore& store) const { store.BeginJob(RecordOf(SmallConfig())); }

  std::vector<uint8_t> AttemptAt(SqlStore& store, uint32_t round, uint32_t attempt) const {
    store.CommitAttempt({round, attempt, {0, 1}});
    return Copy(store.ReceiptOf(round, attempt, 1));
  }
};

// The attack of a restored backup: the store is copied, goes on, and the copy is put back.
TEST_F(StoreReceiptsTest, ARestoredCopyIsRefusedByTheFirstDeviceThatSawMore) {
  OF_A_FILE_ONLY();
  const std::string backup = folder_.Path("backup");
  std::vector<uint8_t> early;
  std::vector<uint8_t> late;
  {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(2), false);
    Begin(store);
    early = AttemptAt(store, 0, 0);
    Release(store, 0, 0);
    std::filesystem::copy_file(path_, backup);
    late = AttemptAt(store, 1, 0);
    Release(store, 1, 0);
  }
  {
    SqlStore store(path_);
    Begin(store);
    store.CheckReceipt(View(early), 1);
    store.CheckReceipt(View(late), 1);
  }
  std::filesystem::copy_file(backup, path_, std::filesystem::copy_options::overwrite_existing);
  SqlStore store(path_);
  Begin(store);
  store.CheckReceipt(View(early), 1);
  const std::string message = RefusalOf([&] { store.CheckReceipt(View(late), 1); });
  EXPECT_TRUE(Says(message, "attempt 1 at round 2")) << message;
  EXPECT_TRUE(Says(message, "older copy")) << message;
  EXPECT_TRUE(Says(message, "restore the copy that was used last")) << message;
  EXPECT_TRUE(Says(message, "`sotto store recover`")) << message;
  // Going on from the copy does not hide it.
  store.CommitAttempt({1, 0, {1}});
  EXPECT_TRUE(
      Says(RefusalOf([&] { store.CheckReceipt(View(late), 1); }), "another one in its place"));
  EXPECT_EQ(store.ignored_receipts(), 0u);
}

TEST_F(StoreReceiptsTest, AStoreOfItsOwnKnowsNoReceiptsOfAnother) {
  SqlStore store(path_, kCreate);
  Begin(store);
  const std::vector<uint8_t> receipt = AttemptAt(store, 0, 0);
  SqlStore other(folder_.Path("other"), kCreate);
  Begin(other);
  other.CheckReceipt(View(receipt), 1);
  EXPECT_EQ(other.ignored_receipts(), 1u);
}

TEST_F(StoreReceiptsTest, AJobGivesThemWithItsTasksAndChecksThoseOfHello) {
  const JobConfig config = SmallConfig();
  SqlStore store(path_, kCreate);
  store.AddDevices(SomeDevices(), false);
  const DeviceRegistry registry = store.LoadDevices();
  Job job(config, registry, store, Key());
  ASSERT_TRUE(job.OpenRound());
  Request hello;
  uint8_t digest[kSha256Size] = {};
  ASSERT_EQ(ModelDigest(*config.model, digest), Status::kOk);
  hello.kind = Request::Kind::kHello;
  hello.model_digest = digest;
  const Reply reply = job.Answer(job.cohort()[0], hello);
  ASSERT_EQ(reply.kind, Reply::Kind::kTrain);
  EXPECT_EQ(Copy(reply.receipt), Copy(store.ReceiptOf(0, 0, registry.NumberOf(job.cohort()[0]))));
  EXPECT_EQ(reply.receipt.size(), kReceiptSize);
  hello.receipt = reply.receipt;
  EXPECT_EQ(job.Answer(job.cohort()[0], hello).kind, Reply::Kind::kTrain);
  const uint8_t made_up[kReceiptSize] = {1};
  hello.receipt = made_up;
  EXPECT_EQ(job.Answer(job.cohort()[0], hello).kind, Reply::Kind::kTrain);
  EXPECT_EQ(store.ignored_receipts(), 1u);
}

}  // namespace
}  // namespace sotto::server
