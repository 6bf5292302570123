// A store in PostgreSQL: who serves it, what becomes of a server that was cut off, what the
// database holds in the clear, and the way into it and back. tests/e2e/postgres.sh names the
// database; without one these tests are skipped.
#include <filesystem>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "backends/postgres_place.h"
#include "jobs/job_control.h"
#include "sotto/posix/files.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class PostgresStoreTest : public StoredTest {
 protected:
  void SetUp() override {
    if (path_.rfind("postgresql://", 0) != 0) GTEST_SKIP() << "SOTTO_TEST_POSTGRES is not set";
  }

  // Ends sessions of this database by what they say they are.
  void EndSessions(const std::string& what) const {
    const std::unique_ptr<Database> tables = TablesOf(path_);
    Statement row(*tables,
                  "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                  "datname = current_database() AND application_name = ? AND pid <> "
                  "pg_backend_pid()");
    row.Bind(what).Step();
    EXPECT_GT(row.Integer(0), 0) << what;
  }

  static std::string RefusalOfFile(const std::string& file) {
    try {
      SqlStore(file).ClaimJobs();
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  std::string Head() const { return InspectStore(path_).head; }
};

// The store with a job of three devices.
void Begin(SqlStore& store) {
  store.AddDevices(SomeDevices(3), false);
  store.BeginJob(RecordOf(SmallConfig()));
}

TEST_F(PostgresStoreTest, ASecondServerWaitsAndGoesOnWithTheJob) {
  auto first = std::make_unique<SqlStore>(path_, kCreate);
  Begin(*first);
  first->CommitAttempt({0, 0, {0, 1}});
  SqlStore second(path_);
  EXPECT_THROW(second.ClaimJobs(), ServedByAnother);
  EXPECT_NE(second.Server().value_or("").find(" of "), std::string::npos);
  first.reset();
  EXPECT_FALSE(second.Server().has_value());
  second.BeginJob(RecordOf(SmallConfig()));
  const JobEntry job = *LastJob(second.ReadHistory());
  EXPECT_EQ(job.attempts, 1);
  EXPECT_EQ(job.next_attempt, 1) << "no number is used twice";
}

// SECURITY.md S34.
TEST_F(PostgresStoreTest, AServerThatLostItsLockWritesNothing) {
  SqlStore first(path_, kCreate);
  Begin(first);
  EndSessions("sotto serve");  // as if it had been silent for too long
  SqlStore second(path_);
  second.BeginJob(RecordOf(SmallConfig()));
  const std::string head = Head();
  EXPECT_THROW(first.CommitAttempt({0, 0, {0, 1}}), StoreLost);
  EXPECT_THROW(first.SealAttempt({0, 0, {1}}), StoreLost);
  EXPECT_THROW(Release(first, 0, 0), StoreLost);
  EXPECT_EQ(Head(), head);
  second.CommitAttempt({0, 0, {0, 1}});
  Release(second, 0, 0);
  EXPECT_EQ(second.Ledger().size(), 1u);
}

TEST_F(PostgresStoreTest, AConnectionThatBreaksIsALostStoreAndTheNextOneGoesOn) {
  {
    SqlStore store(path_, kCreate);
    Begin(store);
    EndSessions("sotto");
    EXPECT_THROW(store.CommitAttempt({0, 0, {0, 1}}), StoreLost);
    EXPECT_THROW(store.ReadHistory(), StoreLost);
  }
  SqlStore store(path_);
  store.BeginJob(RecordOf(SmallConfig()));
  EXPECT_EQ(LastJob(store.ReadHistory())->attempts, 0) << "nothing was committed";
}

// SECURITY.md S35.
TEST_F(PostgresStoreTest, TheDatabaseHoldsNoSecretInTheClear) {
  const std::vector<Device> devices = SomeDevices(2);
  SqlStore store(path_, kCreate);
  store.AddDevices(devices, false);
  Key rotated;
  rotated.bytes[3] = 9;
  store.RotateDevice("small-1", rotated);
  store.BeginJob(RecordOf(SmallConfig()));
  store.CommitAttempt({0, 0, {0, 1}});
  const std::unique_ptr<Database> tables = TablesOf(path_);
  const auto count = [&](const char* sql, ByteSpan value) {
    Statement row(*tables, sql);
    row.Bind(value).Step();
    return row.Integer(0);
  };
  EXPECT_EQ(count("SELECT count(*) FROM devices WHERE secret = ?", devices[0].secret.bytes), 0);
  EXPECT_EQ(count("SELECT count(*) FROM rotations WHERE secret = ?", rotated.bytes), 0);
  Statement cohort(*tables, "SELECT length(cohort) FROM attempts");
  ASSERT_TRUE(cohort.Step());
  EXPECT_EQ(cohort.Integer(0), 2 * 4 + 32 + 40) << "two devices and a salt, wrapped";
  Statement receipt_key(*tables, "SELECT length(receipt_key) FROM store");
  ASSERT_TRUE(receipt_key.Step());
  EXPECT_EQ(receipt_key.Integer(0), 72) << "a nonce, 32 bytes, a tag";
  EXPECT_EQ(store.FindDevice("small-0").secret.bytes[31], 1);
}

TEST_F(PostgresStoreTest, AnotherKeyIsRefusedAndSoIsNone) {
  { SqlStore store(path_, kCreate); }
  const std::string other = folder_.Path("other-key");
  const std::string with_other = path_.substr(0, path_.rfind("&key=")) + "&key=" + other;
  try {
    SqlStore store(with_other);
    ADD_FAILURE() << "a store was opened without its key";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(Says(error.what(), other + ", is not there; copy it")) << error.what();
  }
  StoreKey::Create(other);
  try {
    SqlStore store(with_other);
    ADD_FAILURE() << "another key opened the store";
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(Says(error.what(), other) && Says(error.what(), "not under this key"))
        << error.what();
  }
}

// SECURITY.md S36.
TEST_F(PostgresStoreTest, AStoreMovesIntoADatabaseAndBack) {
  const std::string file = folder_.Path("file");
  const std::string back = folder_.Path("back");
  {
    SqlStore store(file, kCreate);
    Begin(store);
    store.CommitAttempt({0, 0, {0, 1}});
    Release(store, 0, 0);
  }
  const std::vector<float> model = SqlStore(file).ReadModel(1, 0).parameters;
  const LogEnd moved = MoveStore(file, path_);
  EXPECT_EQ(moved.records, InspectStore(file).records) << "all, and each an answer to the request";
  EXPECT_EQ(MoveStore(file, path_).head, moved.head) << "a second call finds it";
  EXPECT_TRUE(Says(RefusalOf([&] { MoveStore(file, path_ + "x"); }), "has moved to"));
  EXPECT_THROW(WithdrawMove(file), std::invalid_argument) << "the new store is there";
  EXPECT_THROW(WithdrawRequest(*OpenStore(file), 1), std::invalid_argument);
  SqlStore old(file);
  EXPECT_TRUE(Says(RefusalOf([&] { old.ClaimJobs(); }), "has moved to"));
  EXPECT_TRUE(Says(RefusalOf([&] { old.SetPaused(true); }), "has moved to"));
  {
    SqlStore store(path_);
    EXPECT_EQ(store.ReadModel(1, 0).parameters, model);
    EXPECT_EQ(store.FindDevice("small-2").secret.bytes[0], 2);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({1, 0, {0, 1}});
    Release(store, 1, 0);
  }
  MoveStore(path_, back);
  SqlStore store(back);
  EXPECT_EQ(store.Ledger().size(), 2u);
  store.BeginJob(RecordOf(SmallConfig()));
  EXPECT_EQ(LastJob(store.ReadHistory())->released, 2);
}

TEST_F(PostgresStoreTest, AMoveThatWasInterruptedGoesOnOrIsTakenBack) {
  const std::string file = folder_.Path("file");
  {
    SqlStore store(file, kCreate);
    store.AddDevices(SomeDevices(2), false);
    store.Ask({JobAct::kMove, 0, path_});  // killed here
  }
  EXPECT_THROW(SqlStore(file).ClaimJobs(), std::runtime_error);
  EXPECT_THROW(WithdrawRequest(*OpenStore(file), 1), std::invalid_argument)
      << "only a command that looks for the new store takes it back";
  WithdrawMove(file);
  SqlStore(file).ClaimJobs();
  { SqlStore(file).Ask({JobAct::kMove, 0, path_}); }
  MoveStore(file, path_);
  EXPECT_EQ(SqlStore(path_).ListDevices().size(), 2u);
}

TEST_F(PostgresStoreTest, AMoveIsNotTakenBackWhenTheNewStoreIsNotFoundAnyMore) {
  const std::string file = folder_.Path("file");
  const std::string moved = folder_.Path("moved");
  { SqlStore(file, kCreate).AddDevices(SomeDevices(2), false); }
  MoveStore(file, moved);
  std::filesystem::rename(moved, folder_.Path("renamed"));
  EXPECT_THROW(WithdrawMove(file), std::invalid_argument);
  EXPECT_TRUE(Says(RefusalOfFile(file), "has moved to"));
  EXPECT_EQ(SqlStore(folder_.Path("renamed")).ListDevices().size(), 2u);
}

TEST_F(PostgresStoreTest, TwoStoresNeverBecomeOne) {
  const std::string file = folder_.Path("file");
  { SqlStore(file, kCreate).AddDevices(SomeDevices(2), false); }
  { SqlStore(path_, kCreate).AddDevices(SomeDevices(1), false); }
  EXPECT_TRUE(Says(RefusalOf([&] { MoveStore(file, path_); }), "it is there already"));
  SqlStore(file).ClaimJobs();
}

TEST(StoreKeys, WrapTheSameToTheSameAndNoticeAnyChange) {
  const TestFolder folder;
  StoreKey::Create(folder.Path("key"));
  EXPECT_THROW(StoreKey::Create(folder.Path("key")), std::runtime_error) << "never overwritten";
  const StoreKey key(folder.Path("key"));
  for (const size_t size : {size_t{0}, size_t{32}, size_t{4000}}) {
    const std::vector<uint8_t> secret(size, 7);
    const ByteSpan view(secret.data(), secret.size());
    const std::vector<uint8_t> wrapped = key.Wrap(view);
    EXPECT_EQ(wrapped.size(), size + 40);
    EXPECT_EQ(key.Wrap(view), wrapped);
    EXPECT_EQ(key.Unwrap({wrapped.data(), wrapped.size()}), secret);
    for (const size_t at : {size_t{0}, size_t{23}, wrapped.size() - 1}) {
      std::vector<uint8_t> changed = wrapped;
      changed[at] ^= 1;
      EXPECT_THROW((void)key.Unwrap({changed.data(), changed.size()}), std::runtime_error);
    }
  }
  EXPECT_THROW((void)key.Unwrap({}), std::runtime_error);
}

TEST(StoreKeys, AFileOfAnotherFormIsRefusedWithoutItsContents) {
  const TestFolder folder;
  const std::string digits(64, 'a');
  int number = 0;
  for (const auto& text :
       {std::string(), "sotto-store-key 1 " + digits, "sotto-store-key 2 " + digits + "\n",
        "sotto-store-key 1 " + digits + "a\n", "sotto-store-key 1 g" + digits.substr(1) + "\n",
        std::string("sotto-key 1\n")}) {
    const std::string path = folder.Path("key" + std::to_string(++number));
    posix::WriteSecretFile(path, text);
    try {
      const StoreKey key(path);
      ADD_FAILURE() << text;
    } catch (const std::runtime_error& error) {
      EXPECT_EQ(error.what(),
                path + ": not the key of a store; copy the one of the store's servers");
    }
  }
}

TEST(PostgresName, APasswordIsNoPartOfAStoresName) {
  EXPECT_EQ(ParsePostgresName("postgresql://sotto@db/fleet").key_file, kDefaultKeyFile);
  const PostgresName name =
      ParsePostgresName("postgresql://sotto@db/fleet?sslmode=verify-full&key=/etc/sotto.key");
  EXPECT_EQ(name.key_file, "/etc/sotto.key");
  EXPECT_EQ(name.uri, "postgresql://sotto@db/fleet?sslmode=verify-full");
  EXPECT_EQ(name.database, "fleet");
  EXPECT_THROW(ParsePostgresName("postgresql://sotto:word@db/fleet"), std::invalid_argument);
  EXPECT_THROW(ParsePostgresName("postgresql:///fleet?password=word"), std::invalid_argument);
  EXPECT_THROW(ParsePostgresName("postgresql:///fleet?speed=high"), std::invalid_argument);
}

}  // namespace
}  // namespace sotto::server
