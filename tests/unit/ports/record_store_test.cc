// The store of a POSIX system: files of the owner alone, replaced as a whole; failures have a
// reason and no exception leaves the calls.
#include "sotto/posix/record_store.h"

#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "sotto/posix/files.h"
#include "unit/test_folder.h"

namespace sotto::posix {
namespace {

Status Save(RecordStore& files, StoreSlot slot, const std::string& record) {
  const PersistentStore store = files.store();
  const ByteSpan parts[] = {{reinterpret_cast<const uint8_t*>(record.data()), record.size()}};
  return store.save(store.context, slot, Span<const ByteSpan>(parts));
}

Status Load(RecordStore& files, StoreSlot slot, std::string* record, size_t room = 1 << 20) {
  const PersistentStore store = files.store();
  std::vector<uint8_t> bytes(room);
  size_t size = 0;
  const Status status = store.load(store.context, slot, 0, {bytes.data(), room}, &size);
  if (status == Status::kOk) record->assign(bytes.begin(), bytes.begin() + static_cast<long>(size));
  return status;
}

std::string Permissions(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  char text[8];
  (void)std::snprintf(text, sizeof(text), "%03o", info.st_mode & 0777u);
  return text;
}

TEST(RecordStore, EachSlotHasAFileOfItsOwnerAlone) {
  const TestFolder folder;
  RecordStore files(folder.Path("device.key"));
  ASSERT_EQ(Save(files, StoreSlot::kClient, "one"), Status::kOk);
  ASSERT_EQ(Save(files, StoreSlot::kPeer, "two"), Status::kOk);
  for (const char* name : {"device.key.updates", "device.key.peer"}) {
    EXPECT_EQ(Permissions(folder.Path(name)), "600");
  }
  files.SetPath(StoreSlot::kClient, folder.Path("ledger"));
  ASSERT_EQ(Save(files, StoreSlot::kClient, "three"), Status::kOk);
  EXPECT_EQ(files.path(StoreSlot::kClient), folder.Path("ledger"));
  std::string record;
  EXPECT_EQ(Load(files, StoreSlot::kClient, &record), Status::kOk);
  EXPECT_EQ(record, "three");
  EXPECT_EQ(Load(files, StoreSlot::kPeer, &record), Status::kOk);
  EXPECT_EQ(record, "two");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 3)
      << "no temporary file stays";
}

// A record may hold a model: longer than what other small files of the port may be.
TEST(RecordStore, ARecordMayBeLong) {
  const TestFolder folder;
  RecordStore files(folder.Path("x"));
  const std::string record(3 * kMaxSmallFile + 1, 'r');
  ASSERT_EQ(Save(files, StoreSlot::kPeer, record), Status::kOk);
  std::string read;
  EXPECT_EQ(Load(files, StoreSlot::kPeer, &read), Status::kOk);
  EXPECT_EQ(read, record);
}

TEST(RecordStore, AFileThatOthersMayReadIsRefusedByName) {
  const TestFolder folder;
  RecordStore files(folder.Path("x"));
  ASSERT_EQ(Save(files, StoreSlot::kClient, "record"), Status::kOk);
  EXPECT_EQ(files.error(), "");
  ASSERT_EQ(chmod(folder.Path("x.updates").c_str(), 0640), 0);
  std::string record;
  EXPECT_EQ(Load(files, StoreSlot::kClient, &record), Status::kStoreFailed);
  EXPECT_NE(files.error().find("chmod 600"), std::string::npos) << files.error();
  EXPECT_NE(files.error().find(folder.Path("x.updates")), std::string::npos) << files.error();
  EXPECT_EQ(Load(files, StoreSlot::kPeer, &record), Status::kOk);
  EXPECT_EQ(files.error(), "");
}

TEST(RecordStore, WhatCannotBeReadOrWrittenIsTold) {
  const TestFolder folder;
  std::string record;
  RecordStore lost(folder.Path("none/x"));
  EXPECT_EQ(Load(lost, StoreSlot::kClient, &record), Status::kOk) << "no folder, no record";
  EXPECT_EQ(Save(lost, StoreSlot::kClient, "record"), Status::kStoreFailed);
  EXPECT_NE(lost.error(), "");
  ASSERT_TRUE(std::filesystem::create_directory(folder.Path("y.updates")));
  RecordStore taken(folder.Path("y"));
  EXPECT_EQ(Load(taken, StoreSlot::kClient, &record), Status::kStoreFailed);
  EXPECT_EQ(Save(taken, StoreSlot::kClient, "record"), Status::kStoreFailed);
  EXPECT_NE(taken.error().find("this is a folder; name a file"), std::string::npos)
      << taken.error();
}

TEST(RecordStore, AnEmptyFileIsDamagedAndNoEmptySlot) {
  const TestFolder folder;
  RecordStore files(folder.Path("x"));
  std::ofstream(folder.Path("x.updates")).close();
  ASSERT_EQ(chmod(folder.Path("x.updates").c_str(), 0600), 0);
  std::string record;
  EXPECT_EQ(Load(files, StoreSlot::kClient, &record), Status::kStoreFailed);
  EXPECT_NE(files.error().find("it is empty"), std::string::npos) << files.error();
  EXPECT_THROW(files.ThrowError(), FileError);
}

// A full disk is played by the largest file that the process may write.
TEST(RecordStore, ASaveThatFailsLeavesTheOldRecord) {
  const TestFolder folder;
  RecordStore files(folder.Path("x"));
  ASSERT_EQ(Save(files, StoreSlot::kPeer, "old"), Status::kOk);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit small = before;
  small.rlim_cur = 1000;
  (void)std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status status = Save(files, StoreSlot::kPeer, std::string(2000, 'n'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_EQ(status, Status::kStoreFailed);
  EXPECT_NE(files.error().find("cannot write it"), std::string::npos) << files.error();
  std::string record;
  EXPECT_EQ(Load(files, StoreSlot::kPeer, &record), Status::kOk);
  EXPECT_EQ(record, "old");
}

}  // namespace
}  // namespace sotto::posix
