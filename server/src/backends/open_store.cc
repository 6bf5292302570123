#include "backends/open_store.h"

#include <filesystem>
#include <stdexcept>

#include "backends/sql_store.h"
#include "backends/sql_tables.h"
#include "backends/sqlite_place.h"
#include "backends/sqlite_schema.h"
#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"

#ifdef SOTTO_HAS_POSTGRES
#include "backends/postgres_place.h"
#endif

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

struct Kind {
  const char* prefix;  // of the names of this kind of store; the first match wins
  std::unique_ptr<StorePlace> (*open)(const std::string& where, StoreMode mode);
  StoreReport (*inspect)(const std::string& where);
  bool (*exists)(const std::string& where);
  void (*make)(const std::string& where, const FillTables& fill);
  std::string (*whole_name)(const std::string& where);
  std::string (*files)(const std::string& where);     // FilesBeside()
  std::string (*key_file)(const std::string& where);  // KeyFileOf()
};

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

StoreReport Report(Database& database, const ChainHead& head) {
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

// A file: any path.
constexpr Kind kSqlite = {
    "",
    [](const std::string& where, StoreMode mode) -> std::unique_ptr<StorePlace> {
      return std::make_unique<SqlitePlace>(where, mode);
    },
    [](const std::string& where) {
      posix::RequirePrivateFile(where);
      SqliteDatabase database(where, Access::kRead);
      const ChainHead head = ReadSchema(database);
      return Report(database, head);
    },
    [](const std::string& where) { return fs::exists(where); },
    MakeStoreFile,
    [](const std::string& where) { return fs::absolute(where).string(); },
    [](const std::string& where) { return fs::weakly_canonical(where).string(); },
    [](const std::string&) { return std::string(); },
};

#ifdef SOTTO_HAS_POSTGRES
constexpr Kind kPostgres = {
    "postgresql://",
    [](const std::string& where, StoreMode mode) -> std::unique_ptr<StorePlace> {
      return std::make_unique<PostgresPlace>(where, mode);
    },
    [](const std::string& where) {
      PostgresPlace place(where, StoreMode::kRead);
      return Report(place.database(), place.head());
    },
    PostgresPlace::Exists,
    PostgresPlace::Make,
    [](const std::string& where) { return where; },
    [](const std::string& where) {
      const std::string database = ParsePostgresName(where).database;
      return fs::absolute((database.empty() ? "sotto" : database) + ".store").string();
    },
    [](const std::string& where) { return ParsePostgresName(where).key_file; },
};
#else
[[noreturn]] void RefusePostgres() {
  throw std::invalid_argument(
      "postgresql://: this program was built without PostgreSQL's library; install libpq-dev and "
      "build it again, or name a file");
}
constexpr Kind kPostgres = {
    "postgresql://",
    [](const std::string&, StoreMode) -> std::unique_ptr<StorePlace> { RefusePostgres(); },
    [](const std::string&) -> StoreReport { RefusePostgres(); },
    [](const std::string&) -> bool { RefusePostgres(); },
    [](const std::string&, const FillTables&) { RefusePostgres(); },
    [](const std::string&) -> std::string { RefusePostgres(); },
    [](const std::string&) -> std::string { RefusePostgres(); },
    [](const std::string&) -> std::string { RefusePostgres(); },
};
#endif

const Kind& KindOf(const std::string& where) {
  return where.rfind(kPostgres.prefix, 0) == 0 ? kPostgres : kSqlite;
}

}  // namespace

SqlStore::SqlStore(const std::string& where, StoreMode mode)
    : SqlStore(KindOf(where).open(where, mode)) {}

std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode) {
  return std::make_unique<SqlStore>(where, mode);
}

bool StoreExists(const std::string& where) { return KindOf(where).exists(where); }

void FillNewStore(const std::string& where, const FillTables& fill) {
  KindOf(where).make(where, fill);
}

std::string WholeName(const std::string& where) { return KindOf(where).whole_name(where); }

std::string FilesBeside(const std::string& where) { return KindOf(where).files(where); }

std::string KeyFileOf(const std::string& where) { return KindOf(where).key_file(where); }

StoreReport InspectStore(const std::string& where) { return KindOf(where).inspect(where); }

}  // namespace sotto::server
