// Tests of the schema of a store: files of another schema and files of other programs are refused,
// and left as they are.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <vector>

#include "backends/copy_store.h"
#include "backends/open_store.h"
#include "backends/sql_tables.h"
#include "sotto/crypto.h"
#include "sotto/posix/hex.h"
#include "unit/server/store_fixture.h"

namespace sotto::server {
namespace {

class StoreSchemaTest : public StoredTest {
 protected:
  // Whatever opens a store refuses the file with all of these words, and changes nothing.
  void ExpectRefused(const std::vector<std::string>& words) const {
    const std::string before = Bytes();
    const std::function<void()> opens[] = {
        [&] { SqlStore store(path_); },
        [&] { SqlStore store(path_, kCreate); },
        [&] { SqlStore store(path_, StoreMode::kRead); },
        [&] { InspectStore(path_); },
        [&] { BackUpStore(path_, folder_.Path("copy")); },
    };
    for (const auto& open : opens) {
      const std::string message = RefusalOf(open);
      for (const std::string& word : words) EXPECT_TRUE(Says(message, word)) << message;
    }
    EXPECT_EQ(Bytes(), before);
    EXPECT_FALSE(std::filesystem::exists(folder_.Path("copy")));
  }

 private:
  std::string Bytes() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

// A change of the text is a change of every stored byte: raise the version, then this digest.
TEST_F(StoreSchemaTest, TheTablesOfVersionNineAreThese) {
  EXPECT_EQ(kSchemaVersion, 9);
  Sha256 hash;
  ASSERT_EQ(hash.Update({reinterpret_cast<const uint8_t*>(kTables), std::strlen(kTables)}),
            Status::kOk);
  uint8_t digest[kSha256Size];
  ASSERT_EQ(hash.Finish(digest), Status::kOk);
  EXPECT_EQ(posix::Hex(digest), "122efdd2ed77e54854278ec59e372af8d254e0cd32b697c44bc4989b04dabb9c");
}

TEST_F(StoreSchemaTest, AStoreOfAnotherVersionIsRefusedAndTheUserIsToldWhatToDo) {
  OF_A_FILE_ONLY();
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  RunSql("PRAGMA user_version = 8");
  ExpectRefused({"a store of version 8", "reads stores of version 9 alone",
                 "use the older program that wrote it", "`sotto keys new`",
                 "does not know what the devices of this one have spent"});
  RunSql("PRAGMA user_version = 0");
  ExpectRefused({"a store of version 0", "older"});
  RunSql("PRAGMA user_version = 10");
  ExpectRefused({"a store of version 10", "reads stores of version 9 alone",
                 "use the newer program that wrote it"});
  RunSql("PRAGMA user_version = 9");
  EXPECT_EQ(Refusal(), "nothing was refused");
}

// Its tables are as today, but its jobs may be charged in ways that this program does not know.
TEST_F(StoreSchemaTest, AStoreThatWasConvertedFromAnotherVersionIsRefused) {
  OF_A_FILE_ONLY();
  SqlStore(path_, kCreate).AddDevices(SomeDevices(), false);
  Forge("UPDATE store SET former_version = 1");
  ExpectRefused({"a store of version 1", "older"});
}

TEST_F(StoreSchemaTest, WhatIsNoStoreIsRefusedAndLeftAsItIs) {
  OF_A_FILE_ONLY();
  EXPECT_TRUE(Says(Refusal(), "No such file"));
  WriteRaw(std::string(5000, 'x'));
  ExpectRefused({"not a store"});
  std::filesystem::remove(path_);
  WriteRaw("");
  EXPECT_TRUE(Says(Refusal(), "empty"));
  RunSql("CREATE TABLE songs (title TEXT)");
  ExpectRefused({"a database of another program, not a store", "name another file"});
  RunSql("PRAGMA user_version = 9");
  ExpectRefused({"a database of another program, not a store"});
  EXPECT_EQ(SqliteDatabase(path_).Text("PRAGMA journal_mode"), "delete");
}

}  // namespace
}  // namespace sotto::server
