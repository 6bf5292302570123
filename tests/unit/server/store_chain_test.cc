// Tests of the chain over a store's records: every change of a value is refused, and the main file
// alone holds every commit.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sqlite3.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "backends/open_store.h"
#include "backends/sqlite_schema.h"
#include "sotto/posix/hex.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreChainTest : public StoredTest {
 protected:
  // Three devices, one of them revoked, and a job with two releases and an open attempt.
  void Fill(size_t parameters = 8) const {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(3), false);
    store.RevokeDevice("small-2");
    store.SetOwner("small-1", "household-7");
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {0, 1}});
    Release(store, 0, 0, parameters);
    store.CommitAttempt({1, 0, {1}});
    store.CommitAttempt({1, 1, {0}});
    Release(store, 1, 1, parameters);
    store.CommitAttempt({2, 0, {0, 1}});
  }

  std::string Bytes(const std::string& path) const {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Everything that the program reads from the store, as text.
  static std::string Contents(const std::string& path) {
    SqlStore store(path);
    std::string text;
    const DeviceRegistry registry = store.LoadDevices();
    for (uint32_t i = 0; i < registry.size(); ++i) {
      text += registry[i].id + " " + posix::Hex(registry[i].secret.bytes) + "\n";
    }
    const History history = store.ReadHistory();
    for (const DeviceRecord& d : history.devices) {
      text += fmt::format("{} {} {} {} {} {}\n", d.number, d.id, d.created, d.revoked.value_or(-1),
                          d.seeded, d.owner);
    }
    for (const JobEntry& j : history.jobs) {
      text += fmt::format("{} {} {} {} {} {} {} {} {} {} {}\n", j.number, posix::Hex(j.job_id),
                          j.model, j.configuration, j.begun, j.devices.size(), j.devices.front(),
                          j.released, j.attempts, j.next_attempt, j.seeded);
    }
    for (const LedgerEntry& e : store.Ledger()) {
      text += fmt::format("{} {} {} {} {} {} {}", e.job, e.round, e.mechanism, e.plan.noise_sigma,
                          e.reported, e.attempts, e.claims.size());
      for (const privacy::Claim& c : e.claims) {
        text += fmt::format(" {} {} {} {}", c.epsilon, c.delta, c.accountant, c.colluders);
      }
      const StoredModel model = store.ReadModel(e.job, e.round);
      for (const float value : model.parameters) text += fmt::format(" {}", value);
      text += fmt::format(" {} {}\n", model.optimiser_state.size(), model.next_clip_l2);
    }
    return text;
  }

  // What Contents() returns, or the refusal.
  std::string ContentsOrRefusal() const {
    try {
      return Contents(path_);
    } catch (const std::exception& error) {
      EXPECT_TRUE(Says(error.what(), path_)) << error.what();
      return "";
    }
  }
};

// SECURITY.md S21.
TEST_F(StoreChainTest, AChangedValueIsRefusedAndTheLastGoodRecordIsNamed) {
  OF_A_FILE_ONLY();
  Fill();
  const std::string sound = Bytes(path_);
  const struct {
    const char* sql;
    const char* bad;
    const char* good;
  } changes[] = {
      {"UPDATE store SET receipt_key = zeroblob(32)", "record number 1, the store's beginning",
       "no record before it is good"},
      {"UPDATE devices SET secret = randomblob(32) WHERE position = 2", "number 3, device number 2",
       "number 2, device number 1"},
      {"UPDATE devices SET id = 'thief' WHERE position = 1", "device number 1", "beginning"},
      {"UPDATE devices SET seeded = 1 WHERE position = 1", "device number 1", "beginning"},
      {"UPDATE revocations SET revoked = revoked + 1", "the revocation of device number 3",
       "device number 3"},
      {"DELETE FROM revocations", "the revocation of device number 3", "device number 3"},
      {"UPDATE owners SET owner = 'guest'", "owner 1 of device number 2", "the revocation"},
      {"DELETE FROM owners", "owner 1 of device number 2", "the revocation"},
      {"UPDATE jobs SET surcharge = 1", "the beginning of job 1", "owner 1 of device number 2"},
      {"UPDATE jobs SET configuration = replace(configuration, 'uniform', 'poisson')",
       "the beginning of job 1", "owner 1 of device number 2"},
      {"DELETE FROM job_devices WHERE device = 2", "list 1 of the devices of job 1",
       "the first model of job 1"},
      {"UPDATE models SET parameters = zeroblob(2600) WHERE round = -1", "the first model of job 1",
       "the beginning of job 1"},
      {"UPDATE attempts SET cohort = x'00000000' WHERE round = 1 AND attempt = 0",
       "attempt 1 at round 2 of job 1", "the model of round 1 of job 1"},
      {"UPDATE releases SET reported = 9 WHERE round = 1", "the release of round 2 of job 1",
       "attempt 2 at round 2 of job 1"},
      {"UPDATE facts SET sigma = 99 WHERE round = 1", "the release of round 2 of job 1",
       "attempt 2 at round 2"},
      {"UPDATE claims SET epsilon = 0.001 WHERE round = 1", "the release of round 2 of job 1",
       "attempt 2 at round 2"},
      {"DELETE FROM claims WHERE round = 0", "the release of round 1", "attempt 1 at round 1"},
      {"UPDATE models SET parameters = zeroblob(32) WHERE round = 0", "the model of round 1",
       "the release of round 1"},
      {"UPDATE models SET next_clip_l2 = 7 WHERE round = 0", "the model of round 1",
       "the release of round 1"},
      {"UPDATE models SET optimiser_state = x'00' WHERE round = 0", "the model of round 1",
       "the release of round 1"},
      {"UPDATE chain SET hash = zeroblob(32) WHERE sequence = 4", "number 4", "number 3"},
      {"DELETE FROM chain WHERE sequence = 4", "number 4", "number 3"},
      {"UPDATE chain SET kind = 'song' WHERE sequence = 4", "kind that does not exist", ""},
  };
  for (const auto& change : changes) {
    WriteRaw(sound);
    RunSql(change.sql);
    const std::string message = Refusal();
    EXPECT_TRUE(Says(message, change.bad)) << change.sql << "\n" << message;
    EXPECT_TRUE(Says(message, change.good)) << change.sql << "\n" << message;
    EXPECT_EQ(RefusalOf([&] { InspectStore(path_); }), message) << change.sql;
  }
}

TEST_F(StoreChainTest, ARowThatNoRecordHoldsIsRefused) {
  OF_A_FILE_ONLY();
  Fill();
  const std::string sound = Bytes(path_);
  for (const char* sql :
       {"INSERT INTO devices (id, secret, created, seeded) VALUES ('x', randomblob(32), 1, 0)",
        "INSERT INTO revocations VALUES (1, 1)", "INSERT INTO attempts VALUES (1, 2, 1, x'', 1)",
        "DELETE FROM chain WHERE sequence = (SELECT max(sequence) FROM chain)"}) {
    WriteRaw(sound);
    RunSql(sql);
    EXPECT_TRUE(Says(Refusal(), "the table has")) << sql;
  }
}

// The end of the chain alone is removed: what is left is sound, but no commit wrote it.
TEST_F(StoreChainTest, AChainThatEndsWithinACommitIsRefused) {
  {
    SqlStore store(path_, kCreate);
    store.AddDevices(SomeDevices(2), false);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {0, 1}});
    Release(store, 0, 0);
  }
  RunSql("DELETE FROM chain WHERE kind = 'model' AND second_key = 0");
  EXPECT_TRUE(Says(Refusal(), "its records have 1 rows in the table models"));
  RunSql("DELETE FROM models WHERE round = 0");
  EXPECT_TRUE(Says(Refusal(), "the release of round 1 of job 1, is the last one"));
  EXPECT_EQ(RefusalOf([&] { InspectStore(path_); }), Refusal());
  Forge(
      "DELETE FROM claims; DELETE FROM facts; DELETE FROM releases; DELETE FROM attempts; "
      "DELETE FROM chain WHERE kind IN ('release', 'attempt')");
  EXPECT_EQ(Refusal(), "nothing was refused");
  RunSql("DELETE FROM job_devices; DELETE FROM chain WHERE kind = 'start'");
  EXPECT_TRUE(Says(Refusal(), "the first model of job 1, is the last one"));
  RunSql("DELETE FROM models; DELETE FROM chain WHERE kind = 'model'");
  EXPECT_TRUE(Says(Refusal(), "the beginning of job 1, is the last one"));
}

TEST_F(StoreChainTest, AChainMayEndAfterEachCommit) {
  const auto opens = [&] { return Refusal() == "nothing was refused"; };
  { const SqlStore store(path_, kCreate); }
  EXPECT_TRUE(opens());
  SqlStore(path_).BeginJob(RecordOf(SmallConfig()));
  EXPECT_TRUE(opens()) << "a job without devices has no list of them";
  SqlStore(path_).AddDevices(SomeDevices(2), false);
  EXPECT_TRUE(opens());
  SqlStore(path_).RevokeDevice("small-1");
  EXPECT_TRUE(opens());
  SqlStore(path_).BeginJob(RecordOf(SmallConfig()));
  EXPECT_TRUE(opens());
}

TEST_F(StoreChainTest, ATableOrTriggerThatNoStoreHasIsRefused) {
  OF_A_FILE_ONLY();
  Fill();
  RunSql("CREATE TRIGGER t BEFORE INSERT ON claims BEGIN SELECT RAISE(IGNORE); END");
  EXPECT_TRUE(Says(Refusal(), "it does not have the tables of version 9"));
}

// Flips single bits all over a store of small pages. Each flip is refused, or everything that the
// program reads is as before. A prime step visits every bit position. SOTTO_FLIP_STEP=1 flips each
// bit of the file; the default takes some seconds.
// SECURITY.md S21.
TEST_F(StoreChainTest, ASingleFlippedBitIsRefusedOrHarmless) {
  OF_A_FILE_ONLY();
  WriteRaw("");
  RunSql("PRAGMA page_size = 512; PRAGMA user_version = 0");
  Fill();
  const char* asked = std::getenv("SOTTO_FLIP_STEP");
  const size_t step = asked == nullptr ? 149 : std::strtoul(asked, nullptr, 10);
  const std::string sound = Bytes(path_);
  const std::string contents = Contents(path_);
  ASSERT_EQ(SqliteDatabase(path_).Integer("PRAGMA page_size"), 512);
  size_t refused = 0;
  size_t harmless = 0;
  for (size_t bit = 0; bit < 8 * sound.size(); bit += step) {
    std::string flipped = sound;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    WriteRaw(flipped);
    const std::string read = ContentsOrRefusal();
    read.empty() ? ++refused : ++harmless;
    ASSERT_TRUE(read.empty() || read == contents) << "bit " << bit << "\n" << read;
    std::filesystem::remove(path_ + "-journal");
  }
  RecordProperty("refused", static_cast<int>(refused));
  RecordProperty("harmless", static_cast<int>(harmless));
  fmt::print("{} bytes: {} flips refused, {} harmless\n", sound.size(), refused, harmless);
  EXPECT_GT(refused, 0u);
  EXPECT_GT(harmless, 0u) << "free space of pages";
}

// The disk changes under a store that is open: the model is verified again when it is read.
TEST_F(StoreChainTest, AModelAndADeviceThatChangedSinceTheStoreWasOpenedAreRefused) {
  OF_A_FILE_ONLY();
  Fill(2000);
  SqlStore store(path_);
  std::string bytes = Bytes(path_);
  const auto flip = [&](const std::string& needle) {
    const size_t at = bytes.find(needle);
    ASSERT_NE(at, std::string::npos);
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at)) << static_cast<char>(bytes[at] ^ 1);
  };
  const std::vector<float> model = ModelOf(0, 2000);
  flip({reinterpret_cast<const char*>(model.data() + 5), 40});
  EXPECT_TRUE(Says(RefusalOf([&] { store.ReadModel(1, 0); }), "the model of round 1 of job 1"));
  EXPECT_EQ(store.ReadModel(1, 1).parameters, ModelOf(1, 2000));
  const Device device = SomeDevices(3)[1];
  flip({reinterpret_cast<const char*>(device.secret.bytes), kKeySize});
  EXPECT_TRUE(Says(RefusalOf([&] { store.LoadDevices(); }), "device number 2"));
}

// After each commit a copy of the one file is a whole store.
TEST_F(StoreChainTest, TheFileAloneHoldsEveryCommit) {
  OF_A_FILE_ONLY();
  const std::string copy = folder_.Path("copy");
  const auto counts = [&] {
    std::filesystem::copy_file(path_, copy, std::filesystem::copy_options::overwrite_existing);
    const StoreReport report = InspectStore(copy);
    return std::vector<int64_t>{report.devices, report.eligible_devices, report.jobs,
                                report.attempts, report.releases};
  };
  using Counts = std::vector<int64_t>;
  SqlStore store(path_, kCreate);
  EXPECT_EQ(counts(), (Counts{0, 0, 0, 0, 0}));
  store.AddDevices(SomeDevices(3), false);
  EXPECT_EQ(counts(), (Counts{3, 3, 0, 0, 0}));
  store.RevokeDevice("small-2");
  EXPECT_EQ(counts(), (Counts{3, 2, 0, 0, 0}));
  store.BeginJob(RecordOf(SmallConfig()));
  EXPECT_EQ(counts(), (Counts{3, 2, 1, 0, 0}));
  store.CommitAttempt({0, 0, {0}});
  EXPECT_EQ(counts(), (Counts{3, 2, 1, 1, 0}));
  Release(store, 0, 0);
  EXPECT_EQ(counts(), (Counts{3, 2, 1, 1, 1}));
  EXPECT_FALSE(std::filesystem::exists(path_ + "-wal"));
}

TEST_F(StoreChainTest, AStoreThatAnotherProgramGaveALogIsRefusedBecauseTheLogMayBeMissing) {
  OF_A_FILE_ONLY();
  Fill();
  RunSql("PRAGMA locking_mode = NORMAL; PRAGMA journal_mode = WAL");
  EXPECT_TRUE(Says(Refusal(), "write-ahead log"));
  RunSql("PRAGMA journal_mode = DELETE");
  EXPECT_EQ(Refusal(), "nothing was refused");
}

TEST_F(StoreChainTest, InspectionDescribesAStoreAndChangesNothing) {
  Fill();
  const std::string before = Bytes(path_);
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.version, 9);
  // The store, three devices, a revocation, an owner, the job, its first model, its devices, four
  // attempts, two releases.
  EXPECT_EQ(report.records, 1 + 3 + 1 + 1 + 1 + 1 + 1 + 4 + 2 * 2);
  EXPECT_EQ(report.last_record, "attempt 1 at round 3 of job 1");
  EXPECT_EQ(report.head.size(), 64u);
  EXPECT_EQ(Bytes(path_), before);
  SqlStore(path_).RevokeDevice("small-0");
  EXPECT_EQ(InspectStore(path_).records, report.records + 1);
  EXPECT_NE(InspectStore(path_).head, report.head);
}

// Killed within a commit that is larger than SQLite's memory, so that part of it is in the file.
void LeaveACommitHalfDone(const std::string& path) {
  const pid_t child = fork();
  if (child == 0) {
    sqlite3* file = nullptr;
    const bool is_done = sqlite3_open(path.c_str(), &file) == SQLITE_OK &&
                         sqlite3_exec(file,
                                      "PRAGMA cache_size = 1; BEGIN; CREATE TABLE half (a);"
                                      "INSERT INTO half VALUES (zeroblob(1000000))",
                                      nullptr, nullptr, nullptr) == SQLITE_OK;
    _exit(is_done ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(StoreChainTest, WhatAKilledProgramLeftOfACommitIsUndoneForReadersToo) {
  OF_A_FILE_ONLY();
  Fill();
  const std::string before = Bytes(path_);
  const StoreReport report = InspectStore(path_);
  LeaveACommitHalfDone(path_);
  ASSERT_NE(Bytes(path_), before);
  EXPECT_EQ(InspectStore(path_).head, report.head);
  LeaveACommitHalfDone(path_);
  EXPECT_EQ(SqlStore(path_, StoreMode::kRead).Ledger().size(), 2u);
}

TEST_F(StoreChainTest, AStoreThatCanOnlyBeReadSaysSoAndCanBeInspected) {
  OF_A_FILE_ONLY();
  Fill();
  ASSERT_EQ(chmod(path_.c_str(), 0400), 0);
  if (geteuid() != 0) {
    EXPECT_TRUE(Says(Refusal(), "can only be read"));
    EXPECT_EQ(Refusal(StoreMode::kRead), "nothing was refused");
    EXPECT_EQ(InspectStore(path_).devices, 3);
    return;
  }
  // Root may write every file, so a child becomes somebody else.
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(chown(path_.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(chown(folder_.path().c_str(), kNobody, kNobody), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(kNobody) != 0) _exit(1);
    if (!Says(Refusal(), "can only be read")) _exit(2);
    if (SqlStore(path_, StoreMode::kRead).Ledger().size() != 2) _exit(4);
    if (SqlStore(path_, StoreMode::kRead).ReadHistory().jobs.size() != 1) _exit(5);
    _exit(InspectStore(path_).devices == 3 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sotto::server
