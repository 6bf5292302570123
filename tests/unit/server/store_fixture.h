// For the tests of the store: a folder for each test, devices, records, models.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "backends/sql_chain.h"
#include "backends/sql_store.h"
#include "backends/sqlite.h"
#include "store/history.h"
#include "unit/server/small_job.h"
#include "unit/test_folder.h"

#ifdef SOTTO_HAS_POSTGRES
#include "backends/postgres.h"
#endif

namespace sotto::server {

constexpr StoreMode kCreate = StoreMode::kCreate;
constexpr char kJobId[] = "sixteen bytes...";
constexpr uint8_t kDigest[kSha256Size] = {1, 2, 3};

// The model with which each job begins.
inline const std::vector<float>& FirstModel() {
  static const std::vector<float> kModel(650, -1.0F);
  return kModel;
}

inline JobRecord RecordOf(const JobConfig& config, const char* job_id = kJobId) {
  const std::vector<float>& first = FirstModel();
  return {{reinterpret_cast<const uint8_t*>(job_id), kJobIdSize},
          kDigest,
          config,
          {first.data(), first.size()}};
}

// Of another job.
inline JobRecord OtherRecordOf(const JobConfig& config) {
  return RecordOf(config, "another sixteen.");
}

inline std::vector<Device> SomeDevices(uint32_t count = kSmallDevices) {
  std::vector<Device> devices;
  for (uint32_t i = 0; i < count; ++i) {
    devices.push_back({"small-" + std::to_string(i), {}});
    std::memcpy(devices.back().secret.bytes, &i, sizeof(i));
    devices.back().secret.bytes[31] = 1;
  }
  return devices;
}

// A model that only this round has.
inline std::vector<float> ModelOf(uint32_t round, size_t size = 650) {
  std::vector<float> model(size);
  for (size_t j = 0; j < size; ++j)
    model[j] = static_cast<float>(round + 1e-3 * static_cast<double>(j));
  return model;
}

// The state of the last job, which `sotto serve` resumes; absent if there is no job.
inline std::optional<JobState> Load(Store& store) {
  const History history = store.ReadHistory();
  return ReadState(store, LastJob(history));
}

// The model after a round of the last job.
inline std::vector<float> ParametersOf(Store& store, uint32_t round) {
  return store.ReadModel(LastJob(store.ReadHistory())->number, round).parameters;
}

// The claim of this view; one of no bound if there is none.
inline privacy::Claim ClaimOf(const LedgerEntry& entry, privacy::View view) {
  for (const privacy::Claim& claim : entry.claims) {
    if (claim.view == view) return claim;
  }
  ADD_FAILURE() << "no claim of view " << privacy::Name(view);
  return {};
}

inline privacy::Claim Released(const LedgerEntry& entry) {
  return ClaimOf(entry, privacy::View::kReleases);
}

inline double EpsilonOf(const LedgerEntry& entry, privacy::View view = privacy::View::kReleases) {
  return ClaimOf(entry, view).epsilon;
}

inline void Release(SqlStore& store, uint32_t round, uint32_t attempt, size_t size = 650,
                    double first_epsilon = 1) {
  const std::vector<float> model = ModelOf(round, size);
  ReleaseRecord record;
  record.round = round;
  record.attempt = attempt;
  record.parameters = {model.data(), model.size()};
  record.codec = FindCodec("gau-lrq");
  privacy::Claim claim;
  claim.epsilon = first_epsilon + round;
  record.spent.claims = {claim};
  store.CommitRelease(record);
}

// The name of a new store for one test: a file in its folder; or, if SOTTO_TEST_POSTGRES names a
// database, a new schema there.
inline std::string NewStoreName(const TestFolder& folder) {
#ifdef SOTTO_HAS_POSTGRES
  if (const char* database = std::getenv("SOTTO_TEST_POSTGRES"); database != nullptr) {
    static int number = 0;
    const std::string schema = "t" + std::to_string(getpid()) + "_" + std::to_string(++number);
    PostgresDatabase(ParsePostgresName(database), Access::kWrite, "test")
        .Run(("CREATE SCHEMA " + schema).c_str());
    return std::string(database) + "&options=-csearch_path%3D" + schema +
           "&key=" + folder.Path("store-key");
  }
#endif
  return folder.Path("store");
}

// The tables of a store, whatever is in them.
inline std::unique_ptr<Database> TablesOf(const std::string& store) {
#ifdef SOTTO_HAS_POSTGRES
  if (store.rfind("postgresql://", 0) == 0) {
    const PostgresName name = ParsePostgresName(store);
    auto database = std::make_unique<PostgresDatabase>(name, Access::kWrite, "test");
    database->Use(std::make_shared<const StoreKey>(name.key_file));
    return database;
  }
#endif
  return std::make_unique<SqliteDatabase>(store);
}

// For a test that copies, spoils or renames a store's file.
#define OF_A_FILE_ONLY() \
  if (path_.rfind("postgresql://", 0) == 0) GTEST_SKIP() << "of a file"

// A separate folder for each test, and the name of a store. tests/e2e/postgres.sh runs the suites
// of this fixture on PostgreSQL, too.
class StoredTest : public testing::Test {
 protected:
  // The message with which the file is refused; it names the file.
  std::string Refusal(StoreMode mode = StoreMode::kExisting) const {
    return RefusalOf([&] { SqlStore store(path_, mode); });
  }

  template <typename Action>
  std::string RefusalOf(Action action) const {
    try {
      action();
    } catch (const std::runtime_error& error) {
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos) << error.what();
      return error.what();
    }
    return "nothing was refused";
  }

  void WriteRaw(const std::string& content) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << content;
    ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  }

  void RunSql(const char* sql) const { TablesOf(path_)->Run(sql); }

  // Changes a store by hand and chains the records that it then names anew, as no program does.
  void Forge(const char* sql) const {
    const std::unique_ptr<Database> tables = TablesOf(path_);
    Database& database = *tables;
    database.Run(sql);
    std::vector<RecordName> records;
    {
      Statement row(database,
                    "SELECT kind, first_key, second_key, third_key FROM chain ORDER BY sequence");
      while (row.Step()) {
        records.push_back({row.Text(0), {row.Integer(1), row.Integer(2), row.Integer(3)}});
      }
    }
    database.Run("DELETE FROM chain");
    Chain chain(database);
    for (const RecordName& record : records) chain.Append(record);
  }

  TestFolder folder_;
  std::string path_ = NewStoreName(folder_);
};

inline bool Says(const std::string& message, const std::string& words) {
  return message.find(words) != std::string::npos;
}

}  // namespace sotto::server
