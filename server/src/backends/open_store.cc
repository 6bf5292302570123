#include "backends/open_store.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>

#include "backends/sqlite_schema.h"
#include "backends/sqlite_store.h"
#include "backends/sqlite_tables.h"
#include "sotto/posix/files.h"
#include "sotto/posix/held_file.h"
#include "sotto/posix/hex.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* prefix;  // of the names of this kind of store; the first match wins
  std::unique_ptr<Store> (*open)(const std::string& where, StoreMode mode);
  StoreReport (*inspect)(const std::string& where);
  LogEnd (*back_up)(const std::string& where, const std::string& file);
  std::vector<std::string> (*leftovers)(const std::string& where);
};

std::unique_ptr<Store> OpenSqlite(const std::string& where, StoreMode mode) {
  return std::make_unique<SqliteStore>(where, mode);
}

std::vector<StoredModels> ModelsIn(Database& database) {
  std::vector<StoredModels> models;
  Statement row(database, "SELECT job, round FROM models ORDER BY job, round");
  while (row.Step()) {
    if (models.empty() || models.back().job != row.Integer(0))
      models.push_back({row.Integer(0), {}});
    models.back().rounds.push_back(row.Integer(1));
  }
  return models;
}

StoreReport InspectSqlite(const std::string& path) {
  posix::RequirePrivateFile(path);
  Database database(path, Access::kRead);
  const ChainHead head = ReadSchema(database);
  const Transaction moment(database, Transaction::Kind::kRead);
  StoreReport report;
  report.version = kSchemaVersion;
  report.records = head.records;
  report.last_record = DescribeRecord(head.last);
  report.head = posix::Hex(head.hash);
  report.devices = database.Integer("SELECT count(*) FROM devices");
  report.eligible_devices = report.devices - database.Integer("SELECT count(*) FROM revocations");
  report.jobs = database.Integer("SELECT count(*) FROM jobs");
  report.attempts = database.Integer("SELECT count(*) FROM attempts");
  report.releases = database.Integer("SELECT count(*) FROM releases");
  report.evaluations = database.Integer("SELECT count(*) FROM evaluations");
  report.models = ModelsIn(database);
  return report;
}

constexpr char kDraft[] = ".part";

// The file of a backup under way. It holds every secret of the store. The destructor removes it; a
// killed process leaves it, without its claim.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) {
    RemoveLeftover();
    if (!posix::CreatePrivateFile(path_)) {
      throw std::runtime_error(path_ +
                               ": it is there already, of a backup that is under way, or it is "
                               "another file; wait, or name another backup");
    }
    file_.emplace(path_);
    if (file_->Claim() && file_->IsNamed()) return;
    throw std::runtime_error(path_ + ": another backup has just taken it; name another one");
  }
  ~Draft() { Remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // Whether a killed backup has left this file: it is a private file with the beginning of a
  // database, and no process has claimed it.
  static bool IsLeftover(const std::string& path) {
    std::error_code failed;
    if (!fs::is_regular_file(fs::symlink_status(path, failed))) return false;
    try {
      posix::RequirePrivateFile(path);
      const posix::HeldFile file(path);
      return !file.IsClaimedByAnother() && BeginsAsDatabase(path);
    } catch (const std::exception&) {
      return false;
    }
  }

  // Gives the file its name, which nothing else may have.
  void Publish(const std::string& name) {
    std::error_code error;
    fs::create_hard_link(path_, name, error);
    if (error) {
      throw std::runtime_error(name + ": cannot create it: " + error.message() +
                               "; a backup never replaces a file: name another one");
    }
  }

 private:
  static bool BeginsAsDatabase(const std::string& path) {
    constexpr std::string_view kDatabase = "SQLite format 3";
    uint8_t head[kDatabase.size()] = {};
    const std::optional<size_t> size = posix::ReadPrivateFileAt(path, 0, head);
    return size && std::equal(std::begin(head), std::end(head), kDatabase.begin());
  }

  // An empty file is one, too: the backup was killed before it wrote.
  void RemoveLeftover() const {
    std::error_code failed;
    const bool is_empty = fs::is_regular_file(fs::symlink_status(path_, failed)) &&
                          fs::file_size(path_, failed) == 0 && !failed;
    if (!is_empty && !IsLeftover(path_)) return;
    posix::HeldFile file(path_);
    if (file.Claim() && file.IsNamed()) Remove();
  }

  // With what SQLite keeps beside it.
  void Remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(path_ + "-journal", ignored);
  }

  const std::string path_;
  std::optional<posix::HeldFile> file_;
};

// What killed backups have left in the folder of a new one.
std::vector<std::string> LeftoversBeside(const std::string& file) {
  std::vector<std::string> leftovers;
  const fs::path folder =
      fs::path(file).has_parent_path() ? fs::path(file).parent_path() : fs::path(".");
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (entry->path().extension() == kDraft && Draft::IsLeftover(path)) leftovers.push_back(path);
  }
  std::sort(leftovers.begin(), leftovers.end());
  return leftovers;
}

// The records never change, so a copy of them one by one is a copy of one moment, when the last
// record was written. Between two pieces other processes commit.
LogEnd BackUpSqlite(const std::string& path, const std::string& file) {
  if (fs::exists(file)) {
    throw std::runtime_error(file +
                             ": it is there already; a backup never replaces a file: name "
                             "another one");
  }
  SqliteStore store(path, StoreMode::kRead);  // verified
  Draft draft(file + kDraft);
  ChainHead head;
  int64_t attempts = 0;
  {
    Database copy(file + kDraft);
    copy.CommitToFile();
    MakeTables(copy);
    head = Chain(store.database()).CopyTo(copy);
    Chain(copy).Verify();
    attempts = copy.Integer("SELECT count(*) FROM attempts");
  }
  draft.Publish(file);
  return {head.records, DescribeRecord(head.last), posix::Hex(head.hash), attempts,
          LeftoversBeside(file)};
}

constexpr Kind kKinds[] = {
    {"", OpenSqlite, InspectSqlite, BackUpSqlite, LeftoversBeside},  // any path
};

const Kind& KindOf(const std::string& where) {
  return *std::find_if(std::begin(kKinds), std::end(kKinds), [&](const Kind& kind) {
    return where.rfind(kind.prefix, 0) == 0;  // the last row fits every name
  });
}

}  // namespace

std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode) {
  return KindOf(where).open(where, mode);
}

LogEnd BackUpStore(const std::string& where, const std::string& file) {
  return KindOf(where).back_up(where, file);
}

std::vector<std::string> BackupLeftovers(const std::string& where) {
  return KindOf(where).leftovers(where);
}

StoreReport InspectStore(const std::string& where) { return KindOf(where).inspect(where); }

}  // namespace sotto::server
