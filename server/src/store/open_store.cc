#include "store/open_store.h"

#include <algorithm>
#include <iterator>

#include "sotto/posix/files.h"
#include "sotto/posix/hex.h"
#include "store/sqlite_backup.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "store/sqlite_tables.h"

namespace sotto::server {
namespace {

struct Kind {
  const char* prefix;  // of the names of this kind of store; the first match wins
  std::unique_ptr<Store> (*open)(const std::string& where, StoreMode mode);
  StoreReport (*inspect)(const std::string& where);
  LogEnd (*back_up)(const std::string& where, const std::string& file);
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

LogEnd BackUpSqlite(const std::string& path, const std::string& file) {
  const ChainHead head = BackUpSqliteStore(path, file);
  return {head.records, DescribeRecord(head.last), posix::Hex(head.hash)};
}

constexpr Kind kKinds[] = {
    {"", OpenSqlite, InspectSqlite, BackUpSqlite},  // any path
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

StoreReport InspectStore(const std::string& where) { return KindOf(where).inspect(where); }

}  // namespace sotto::server
