#include "store/sqlite_schema.h"

#include <fmt/format.h>
#include <stdexcept>

#include "store/sqlite_versions.h"

namespace sotto::server {
namespace {

constexpr int64_t kApplicationId = 0x536f7474;  // "Sott"

[[noreturn]] void Refuse(const Database& database, const std::string& why) {
  throw std::runtime_error(database.path() + ": " + why);
}

void SetVersion(Database& database) {
  database.Run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                           kSchemaVersion)
                   .c_str());
}

void Create(Database& database) {
  Transaction transaction(database);
  database.Run(kSchemaVersions[kSchemaVersion - 1].tables);
  SetVersion(database);
  transaction.Commit();
}

void Convert(Database& database, int64_t from) {
  Transaction transaction(database);
  for (const SchemaVersion& step : kSchemaVersions) {
    if (step.version <= from) continue;
    database.Run(step.put_aside);
    database.Run(step.tables);
    database.Run(step.copy);
  }
  if (database.Integer("SELECT count(*) FROM pragma_foreign_key_check") != 0) {
    Refuse(database, "its tables contradict each other; begin a new job in a new store");
  }
  SetVersion(database);
  transaction.Commit();
}

void RequireKnownVersion(const Database& database, int64_t application, int64_t version) {
  if (application != kApplicationId) {
    Refuse(database, "a database of another program, not a store; name another file");
  }
  if (version < 1 || version > kSchemaVersion) {
    Refuse(database,
           fmt::format("a store of version {}, and this program knows versions 1 to {}; "
                       "use the {} program that wrote it",
                       version, kSchemaVersion, version > kSchemaVersion ? "newer" : "older"));
  }
}

}  // namespace

void OpenSchema(Database& database, bool may_create) {
  const int64_t application = database.Integer("PRAGMA application_id");
  const int64_t version = database.Integer("PRAGMA user_version");
  const bool is_empty = application == 0 && version == 0 &&
                        database.Integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (!is_empty) {
    RequireKnownVersion(database, application, version);
  } else if (!may_create) {
    // The file may once have held a job, so a new store is made only on request.
    Refuse(database, "empty, not a store; `sotto keys new` creates one");
  }
  if (database.Text("PRAGMA integrity_check(1)") != "ok") {
    Refuse(database, "the file is damaged; begin a new job in a new store");
  }
  if (database.Text("PRAGMA journal_mode = WAL") != "wal") database.Fail("keep a log beside it");
  database.Run("PRAGMA synchronous = FULL");
  if (is_empty) {
    Create(database);
  } else if (version < kSchemaVersion) {
    Convert(database, version);
  }
  database.Run("PRAGMA foreign_keys = ON");
}

}  // namespace sotto::server
