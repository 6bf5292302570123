// Tests of the store under kills, full disks and second servers, and on files that are damaged.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "backends/sql_store.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

// The exit code of a child process that runs the action; -1 if it was killed.
template <typename Action>
int InChild(Action action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class SqliteDamageTest : public StoredTest {};

TEST_F(SqliteDamageTest, ASecondServerIsRefusedWhileTheFirstOneLives) {
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(done[1]);
    SqlStore store(path_, kCreate);
    store.ClaimJobs();
    char byte = 1;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(done[0], &byte, 1) == 0 ? 0 : 1);  // until the parent hangs up
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  SqlStore other(path_);
  const std::string holder = std::to_string(child);
  EXPECT_TRUE(Says(RefusalOf([&] { other.ClaimJobs(); }), "process " + holder + " serves it"));
  EXPECT_EQ(other.Server(), holder);
  EXPECT_EQ(Refusal(), "nothing was refused") << "only serving is for one process";
  for (const int descriptor : {done[0], done[1], ready[0], ready[1]}) close(descriptor);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_FALSE(other.Server().has_value());
  other.ClaimJobs();
}

TEST_F(SqliteDamageTest, ATruncatedOrDamagedStoreIsRefused) {
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  constexpr size_t kPage = 4096;
  const size_t size = std::filesystem::file_size(path_);
  const auto refuses = [&](const char* what, auto damage) {
    std::filesystem::copy_file(path_, path_ + "2");
    damage();
    const std::string message = Refusal();
    EXPECT_TRUE(Says(message, "damaged") || Says(message, "not a store")) << what << message;
    std::filesystem::rename(path_ + "2", path_);
  };
  for (const size_t kept : {size - kPage, size / 2, kPage, size_t{100}, size_t{50}, size_t{0}}) {
    refuses("truncated", [&] { std::filesystem::resize_file(path_, kept); });
  }
  for (size_t page = 1; page < size / kPage; ++page) {
    refuses("damaged", [&] {
      std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
      file.seekp(static_cast<std::streamoff>(page * kPage)) << std::string(kPage, 'x');
    });
  }
  EXPECT_EQ(Refusal(), "nothing was refused");
}

TEST_F(SqliteDamageTest, AFullDiskIsSaidAndWhatWasCommittedIsKept) {
  {
    SqlStore store(path_, kCreate);
    store.BeginJob(RecordOf(SmallConfig()));
    store.CommitAttempt({0, 0, {}});
    Release(store, 0, 0);
    store.CommitAttempt({1, 0, {}});
  }
  // A limit on the file's size stands for the disk's end. It is the child's alone.
  const int code = InChild([&] {
    signal(SIGXFSZ, SIG_IGN);
    SqlStore store(path_);
    store.BeginJob(RecordOf(SmallConfig()));
    const rlimit limit{200000, 200000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const std::string message = RefusalOf([&] { Release(store, 1, 0, 100000); });
    if (!Says(message, "free space")) return 2;
    return Load(store)->next_round == 1 ? 0 : 3;  // and the store still answers
  });
  EXPECT_EQ(code, 0);
  SqlStore store(path_);
  EXPECT_EQ(Load(store)->next_round, 1u);
  EXPECT_EQ(Load(store)->parameters, ModelOf(0));
  EXPECT_EQ(store.Ledger().size(), 1u);
  store.BeginJob(RecordOf(SmallConfig()));
  Release(store, 1, 0, 100000);
  EXPECT_EQ(Load(store)->next_round, 2u);
}

TEST_F(SqliteDamageTest, SqlitesOwnWordForAFullDiskGetsTheSameAdvice) {
  WriteRaw("");
  SqliteDatabase file(path_);
  file.Run("CREATE TABLE t (b BLOB); PRAGMA max_page_count = 4");
  const std::string message =
      RefusalOf([&] { file.Run("INSERT INTO t VALUES (zeroblob(1000000))"); });
  EXPECT_TRUE(Says(message, "full"));
  EXPECT_TRUE(Says(message, "free space"));
}

// What a child tells its parent after each commit returned.
struct Committed {
  uint32_t round;
  uint32_t attempt;
  bool released;
};

// Goes on with the store's job as fast as it can, two attempts a round, until it is killed.
[[noreturn]] void CommitForever(const std::string& path, int report) {
  SqlStore store(path);
  store.BeginJob(RecordOf(SmallConfig()));
  const JobState state = *Load(store);
  uint32_t round = state.next_round;
  uint32_t attempt = state.next_attempt;
  const auto tell = [&](bool released) {
    const Committed committed{round, attempt, released};
    if (write(report, &committed, sizeof(committed)) != sizeof(committed)) _exit(1);
  };
  for (;; ++round, attempt = 0) {
    for (const uint32_t last = attempt + 1;; ++attempt) {
      store.CommitAttempt({round, attempt, {round, attempt}});
      tell(false);
      if (attempt == last) break;
    }
    Release(store, round, attempt);
    tell(true);
  }
}

// Starts a child on the store, kills it so long after its start or its first release, and returns
// all that it had reported as committed.
std::vector<Committed> RunAndKill(const std::string& path, std::chrono::microseconds after,
                                  bool let_it_release) {
  int report[2];
  EXPECT_EQ(pipe(report), 0);
  const pid_t child = fork();
  if (child == 0) CommitForever(path, report[1]);
  close(report[1]);
  std::vector<Committed> all;
  Committed one{};
  while (let_it_release && !one.released) {
    const bool is_told = read(report[0], &one, sizeof(one)) == sizeof(one);
    EXPECT_TRUE(is_told) << "the child failed before its first release";
    if (!is_told) break;
    all.push_back(one);
  }
  std::this_thread::sleep_for(after);
  kill(child, SIGKILL);
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the child failed before it was killed";
  while (read(report[0], &one, sizeof(one)) == sizeof(one)) all.push_back(one);
  close(report[0]);
  return all;
}

uint32_t RoundsOf(const std::vector<Committed>& committed, uint32_t known) {
  for (const Committed& one : committed) {
    if (one.released) known = std::max(known, one.round + 1);
  }
  return known;
}

// The file without the journal that a killed commit left beside it: it is refused, or it holds
// every round that was committed.
void ExpectNothingIsLostWithTheJournal(const std::string& path, uint32_t known_rounds) {
  const std::string alone = path + "-alone";
  std::filesystem::copy_file(path, alone, std::filesystem::copy_options::overwrite_existing);
  try {
    SqlStore store(alone);
    EXPECT_GE(Load(store)->next_round, known_rounds);
  } catch (const std::runtime_error& error) {
    EXPECT_TRUE(Says(error.what(), "damaged")) << error.what();
  }
  std::filesystem::remove(alone + "-journal");
}

// Thirty kills at random times (seed 1), every other one while the store is being opened: what a
// commit reported is there afterwards, at most one commit more, and no attempt's number is given
// out again.
TEST_F(SqliteDamageTest, NothingCommittedIsLostToAKill) {
  SqlStore(path_, kCreate).BeginJob(RecordOf(SmallConfig()));
  std::mt19937 random(1);
  uint32_t known_rounds = 0;
  for (int kill = 0; kill < 30; ++kill) {
    const std::vector<Committed> committed =
        RunAndKill(path_, std::chrono::microseconds(random() % 40000), kill % 2 == 1);
    ExpectNothingIsLostWithTheJournal(path_, RoundsOf(committed, known_rounds));
    SqlStore store(path_);
    const JobState state = *Load(store);
    for (const Committed& one : committed) {
      if (one.released) known_rounds = one.round + 1;
      if (!one.released && one.round == state.next_round) {
        EXPECT_GT(state.next_attempt, one.attempt) << "attempt given out twice";
      }
    }
    EXPECT_GE(state.next_round, known_rounds);
    EXPECT_LE(state.next_round, known_rounds + 1);
    known_rounds = state.next_round;
    const std::vector<LedgerEntry> ledger = store.Ledger();
    ASSERT_EQ(ledger.size(), known_rounds);
    for (uint32_t round = 0; round < known_rounds; ++round) {
      EXPECT_EQ(ledger[round].round, round);
      EXPECT_EQ(EpsilonOf(ledger[round]), 1.0 + round);
      EXPECT_EQ(ParametersOf(store, round), ModelOf(round));
    }
    EXPECT_EQ(state.parameters, known_rounds == 0 ? FirstModel() : ModelOf(known_rounds - 1));
  }
  EXPECT_GT(known_rounds, 0u) << "no child lived long enough to release anything";
}

}  // namespace
}  // namespace sotto::server
