// Tests of a store that several processes use at once. Connections of one process share nothing but
// the file, as connections of several processes do. Tests that kill use real processes.
#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <stdexcept>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "sotto/posix/files.h"
#include "sotto/posix/held_file.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreSharingTest : public StoredTest {
 protected:
  StoreSharingTest() { SqlStore(path_, kCreate).AddDevices(SomeDevices(), false); }

  void Begin(SqlStore& store) const {
    JobRecord record = RecordOf(config_);
    const std::vector<float> first = ModelOf(99);
    record.parameters = {first.data(), first.size()};
    store.BeginJob(record);
  }

  static void ReleaseRound(SqlStore& store, uint32_t round) {
    store.CommitAttempt({round, 0, {0}});
    Release(store, round, 0, 650);
  }

  // The last model, read while others may use the store.
  std::vector<float> LastModel(int64_t* round = nullptr) const {
    const auto store = OpenStore(path_, StoreMode::kRead);
    std::vector<float> parameters;
    store->ReadAtOneMoment([&] {
      const int64_t last = store->ListModels(1).back();
      parameters = store->ReadModel(1, last).parameters;
      if (round != nullptr) *round = last;
    });
    return parameters;
  }

  std::string FileOf(const std::string& name) const { return folder_.Path(name.c_str()); }

  const JobConfig config_ = SmallConfig();
};

TEST_F(StoreSharingTest, EveryReleaseIsReadWhileTheServerHasTheStore) {
  SqlStore server(path_);
  Begin(server);
  for (uint32_t round = 0; round < 3; ++round) {
    ReleaseRound(server, round);
    EXPECT_EQ(LastModel(), ModelOf(round));
  }
}

// All that users may do at once. No call meets a lock that it does not wait for.
// SECURITY.md S23.
TEST_F(StoreSharingTest, ReadersWritersAndAServerOnlyWaitForEachOther) {
  SqlStore server(path_);
  server.KeepModels(1);
  Begin(server);
  ReleaseRound(server, 0);
  std::atomic<bool> is_done{false};
  std::vector<std::thread> others;
  others.emplace_back([&] {
    while (!is_done) {
      int64_t round = 0;
      const std::vector<float> model = LastModel(&round);
      EXPECT_EQ(model, ModelOf(static_cast<uint32_t>(round)));
    }
  });
  others.emplace_back([&] {
    for (int i = 0; !is_done; ++i) {
      const std::string id = "late-" + std::to_string(i);
      Device device = {id, {}};
      std::memcpy(device.secret.bytes, &i, sizeof(i));
      device.secret.bytes[30] = 7;
      OpenStore(path_)->AddDevices({device}, false);
      if (i % 2 == 0) OpenStore(path_)->RevokeDevice(id);
    }
  });
  others.emplace_back([&] {
    for (int i = 0; !is_done; ++i) {
      const std::string copy = FileOf("copy-" + std::to_string(i));
      const LogEnd end = BackUpStore(path_, copy);
      const StoreReport report = InspectStore(copy);
      EXPECT_EQ(report.head, end.head);
      EXPECT_EQ(report.records, end.records);
    }
  });
  for (uint32_t round = 1; round < 40; ++round) ReleaseRound(server, round);
  is_done = true;
  for (std::thread& other : others) other.join();
  EXPECT_EQ(LastModel(), ModelOf(39));
  EXPECT_EQ(InspectStore(path_).releases, 40);
}

// SECURITY.md S24.
TEST_F(StoreSharingTest, ABackupIsTheStoreOfItsMomentAndIsNotReplaced) {
  SqlStore server(path_);
  Begin(server);
  ReleaseRound(server, 0);
  const LogEnd end = BackUpStore(path_, FileOf("copy"));
  ReleaseRound(server, 1);
  const StoreReport report = InspectStore(FileOf("copy"));
  EXPECT_EQ(report.head, end.head);
  EXPECT_EQ(report.releases, 1);
  EXPECT_THROW(BackUpStore(path_, FileOf("copy")), std::runtime_error);
  EXPECT_THROW(BackUpStore(path_, path_), std::runtime_error);
  EXPECT_EQ(InspectStore(path_).releases, 2) << "the store is as it was";
  SqlStore restored(FileOf("copy"));
  EXPECT_EQ(restored.LoadDevices().size(), size_t{kSmallDevices});
  EXPECT_EQ(ParametersOf(restored, 0), ModelOf(0));
}

// SECURITY.md S24.
TEST_F(StoreSharingTest, ABackupKeepsTheSecretsForItsOwner) {
  BackUpStore(path_, FileOf("copy"));
  posix::RequirePrivateFile(FileOf("copy"));
  EXPECT_FALSE(std::filesystem::exists(FileOf("copy.part")));
}

// A draft holds every secret of the store.
TEST_F(StoreSharingTest, WhatAKilledBackupLeftIsRemovedOrNamed) {
  posix::CreatePrivateFile(FileOf("copy.part"));
  BackUpStore(path_, FileOf("copy"));
  EXPECT_FALSE(std::filesystem::exists(FileOf("copy.part"))) << "killed before it wrote";
  std::filesystem::copy_file(FileOf("copy"), FileOf("old.part"));
  std::filesystem::copy_file(FileOf("copy"), FileOf("later.part"));
  posix::ReplaceTextFile(FileOf("own.part"), "no database");
  EXPECT_EQ(BackUpStore(path_, FileOf("later")).leftovers,
            std::vector<std::string>{FileOf("old.part")});
  EXPECT_FALSE(std::filesystem::exists(FileOf("later.part")));
  EXPECT_TRUE(std::filesystem::exists(FileOf("old.part"))) << "its name may be somebody else's";
  EXPECT_THROW(BackUpStore(path_, FileOf("own")), std::runtime_error);
  EXPECT_EQ(posix::ReadTextFile(FileOf("own.part")), "no database");
}

TEST_F(StoreSharingTest, ABackupUnderWayKeepsItsDraft) {
  OF_A_FILE_ONLY();
  std::filesystem::copy_file(path_, FileOf("copy.part"));
  posix::HeldFile draft(FileOf("copy.part"));
  ASSERT_TRUE(draft.Claim());
  EXPECT_THROW(BackUpStore(path_, FileOf("copy")), std::runtime_error);
  EXPECT_TRUE(draft.IsNamed());
}

// The claim is the file's, not a name's. SECURITY.md S23.
TEST_F(StoreSharingTest, AServerWithoutItsLockFileIsStillTheOnlyOne) {
  OF_A_FILE_ONLY();
  int ready[2];
  int done[2];
  ASSERT_EQ(pipe(ready), 0);
  ASSERT_EQ(pipe(done), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(done[1]);
    SqlStore store(path_);
    store.ClaimJobs();
    char byte = 1;
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    _exit(read(done[0], &byte, 1) == 0 ? 0 : 1);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  ASSERT_TRUE(std::filesystem::remove(path_ + "-serving"));
  {
    SqlStore other(path_);
    EXPECT_TRUE(Says(RefusalOf([&] { other.ClaimJobs(); }), "another process serves it already"));
    EXPECT_EQ(other.Server(), "unknown");
    other.RevokeDevice("small-0");  // only serving is for one process
    std::filesystem::create_hard_link(path_, path_ + "-second");
    SqlStore second(path_ + "-second");  // its journal would have another name
    EXPECT_TRUE(Says(RefusalOf([&] { second.RevokeDevice("small-1"); }), "by another name"));
    EXPECT_EQ(second.ListDevices().size(), size_t{kSmallDevices}) << "reading is free";
    std::filesystem::remove(path_ + "-second");
  }
  for (const int descriptor : {done[0], done[1], ready[0], ready[1]}) close(descriptor);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  SqlStore(path_).ClaimJobs();
}

TEST_F(StoreSharingTest, TwoStoresOfOneProcessAreTwoServers) {
  OF_A_FILE_ONLY();
  SqlStore one(path_);
  SqlStore two(path_);
  one.ClaimJobs();
  std::filesystem::remove(path_ + "-serving");
  EXPECT_THROW(two.ClaimJobs(), std::runtime_error);
  EXPECT_EQ(two.Server(), "unknown");
}

TEST_F(StoreSharingTest, AFileOfTwoNamesIsNotServedAndALaterLinkIsAWarning) {
  OF_A_FILE_ONLY();
  SqlStore server(path_);
  std::filesystem::create_hard_link(path_, path_ + "-second");
  EXPECT_TRUE(Says(RefusalOf([&] { server.ClaimJobs(); }), "has 2 names"));
  std::filesystem::remove(path_ + "-second");
  Begin(server);
  EXPECT_EQ(server.TakeWarning(), "");
  std::filesystem::create_hard_link(path_, FileOf("backup"));
  EXPECT_TRUE(Says(server.TakeWarning(), "second name"));
  EXPECT_EQ(server.TakeWarning(), "") << "once";
  ReleaseRound(server, 0);  // a backup by hard links stops no fleet
  std::filesystem::remove(FileOf("backup"));
  EXPECT_EQ(server.TakeWarning(), "");
  std::filesystem::create_hard_link(path_, FileOf("backup"));
  EXPECT_NE(server.TakeWarning(), "");
}

TEST_F(StoreSharingTest, AStoreThatWasPutInTheirPlaceIsNotWrittenOn) {
  OF_A_FILE_ONLY();
  SqlStore server(path_);
  Begin(server);
  BackUpStore(path_, FileOf("older"));
  const std::string head = InspectStore(FileOf("older")).head;
  ReleaseRound(server, 0);
  std::filesystem::rename(FileOf("older"), path_);
  EXPECT_TRUE(Says(RefusalOf([&] {
                     server.CommitAttempt({1, 0, {0}});
                   }),
                   "no longer names the file"));
  EXPECT_EQ(InspectStore(path_).head, head) << "nothing was added";
  std::filesystem::remove(path_);
  EXPECT_THROW(server.CommitAttempt({1, 0, {0}}), std::runtime_error);
}

TEST_F(StoreSharingTest, AStoreThatWasWrittenOverInPlaceIsNotWrittenOn) {
  OF_A_FILE_ONLY();
  SqlStore server(path_);
  Begin(server);
  BackUpStore(path_, FileOf("older"));
  ReleaseRound(server, 0);
  {
    std::ifstream from(FileOf("older"), std::ios::binary);
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << from.rdbuf();
  }
  EXPECT_TRUE(Says(RefusalOf([&] {
                     server.CommitAttempt({1, 0, {0}});
                   }),
                   "its log does not have the record number"));
  EXPECT_EQ(InspectStore(path_).head, InspectStore(FileOf("older")).head);
}

TEST_F(StoreSharingTest, WhatOtherProcessesAppendIsNoOtherLog) {
  SqlStore server(path_);
  Begin(server);
  OpenStore(path_)->RevokeDevice("small-1");
  ReleaseRound(server, 0);
  OpenStore(path_)->SetPaused(true);
  server.CommitAttempt({1, 0, {0}});
  EXPECT_EQ(InspectStore(path_).attempts, 2);
}

TEST_F(StoreSharingTest, AReaderWritesNothing) {
  const auto store = OpenStore(path_, StoreMode::kRead);
  EXPECT_THROW(store->RevokeDevice("small-0"), std::runtime_error);
  EXPECT_EQ(InspectStore(path_).eligible_devices, int64_t{kSmallDevices});
}

TEST_F(StoreSharingTest, TwoProcessesThatCreateAStoreCreateOne) {
  const std::string path = FileOf("both");
  std::vector<std::thread> both;
  for (int i = 0; i < 2; ++i) {
    both.emplace_back([&, i] {
      Device device = {"device-" + std::to_string(i), {}};
      device.secret.bytes[0] = static_cast<uint8_t>(i);
      OpenStore(path, kCreate)->AddDevices({device}, false);
    });
  }
  for (std::thread& each : both) each.join();
  EXPECT_EQ(InspectStore(path).devices, 2);
}

// A process that ends within a transaction loses that transaction and nothing else.
// SECURITY.md S23.
TEST_F(StoreSharingTest, AKilledWriterLeavesNoLockAndNoHalfCommit) {
  SqlStore server(path_);
  Begin(server);
  for (int i = 0; i < 20; ++i) {
    int begun[2];
    ASSERT_EQ(pipe(begun), 0);
    const pid_t child = fork();
    if (child == 0) {
      const auto store = OpenStore(path_);
      char byte = 1;
      if (write(begun[1], &byte, 1) != 1) _exit(1);
      for (int j = 0;; ++j) {
        Device device = {"killed-" + std::to_string(i) + "-" + std::to_string(j), {}};
        std::memcpy(device.secret.bytes, &j, sizeof(j));
        device.secret.bytes[29] = static_cast<uint8_t>(i + 1);
        store->AddDevices({device}, false);
      }
    }
    char byte = 0;
    ASSERT_EQ(read(begun[0], &byte, 1), 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(5 + 3 * i));
    kill(child, SIGKILL);
    ReleaseRound(server, static_cast<uint32_t>(i));
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    close(begun[0]);
    close(begun[1]);
  }
  const StoreReport report = InspectStore(path_);
  EXPECT_EQ(report.releases, 20);
  EXPECT_GE(report.devices, int64_t{kSmallDevices});
}

TEST_F(StoreSharingTest, AFileThatIsNoStoreIsRefused) {
  const std::string empty = FileOf("empty");
  posix::CreatePrivateFile(empty);
  EXPECT_THROW(OpenStore(empty, StoreMode::kRead), std::runtime_error);
  EXPECT_THROW(OpenStore(FileOf("nothing"), StoreMode::kRead), std::runtime_error);
  EXPECT_THROW(BackUpStore(empty, FileOf("copy")), std::runtime_error);
  EXPECT_FALSE(std::filesystem::exists(FileOf("copy")));
}

}  // namespace
}  // namespace sotto::server
