#include "store/sqlite_schema.h"

#include <filesystem>
#include <fmt/format.h>
#include <stdexcept>

#include "sotto/posix/lock_file.h"
#include "store/sqlite_version5.h"
#include "store/sqlite_version6.h"
#include "store/sqlite_version7.h"
#include "store/sqlite_versions.h"

namespace sotto::server {
namespace {

constexpr int64_t kApplicationId = 0x536f7474;  // "Sott"

[[noreturn]] void Refuse(const Database& database, const std::string& why) {
  throw std::runtime_error(database.path() + ": " + why);
}

int64_t VersionOf(Database& database) { return database.Integer("PRAGMA user_version"); }

void SetVersion(Database& database) {
  database.Run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                           kSchemaVersion)
                   .c_str());
}

}  // namespace

void MakeTables(Database& database) {
  database.Run(TablesOf(kSchemaVersion).c_str());
  SetVersion(database);
}

namespace {

void Create(Database& database) {
  const SchemaVersion& newest = kSchemaVersions[kSchemaVersion - 1];
  Transaction transaction(database);
  if (VersionOf(database) != 0) return;  // another process was faster
  MakeTables(database);
  newest.finish(database, 0);
  transaction.Commit();
}

void Convert(Database& database, int64_t from) {
  Transaction transaction(database);
  if (VersionOf(database) != from) return;  // another process was faster
  for (const SchemaVersion& step : kSchemaVersions) {
    if (step.version <= from) continue;
    database.Run(step.put_aside);
    database.Run(step.tables);
    database.Run(step.copy);
    if (step.finish != nullptr) step.finish(database, from);
  }
  if (database.Integer("SELECT count(*) FROM pragma_foreign_key_check") != 0) {
    Refuse(database, "its tables contradict each other; begin a new job in a new store");
  }
  Chain(database).Verify();  // a damaged store stays as it is
  SetVersion(database);
  transaction.Commit();
}

// What a file says of itself.
struct Marks {
  int64_t application = 0;
  int64_t version = 0;
  bool has_tables = false;
};

// Of one moment: another process may be creating the store.
Marks ReadMarks(Database& database) {
  const Transaction moment(database, Transaction::Kind::kRead);
  return {database.Integer("PRAGMA application_id"), VersionOf(database),
          database.Integer("SELECT count(*) FROM sqlite_schema") > 0};
}

void RequireKnownVersion(const Database& database, const Marks& marks) {
  const int64_t version = marks.version;
  if (marks.application != kApplicationId) {
    Refuse(database, "a database of another program, not a store; name another file");
  }
  if (version < 1 || version > kSchemaVersion) {
    Refuse(database,
           fmt::format("a store of version {}, and this program knows versions 1 to {}; "
                       "use the {} program that wrote it",
                       version, kSchemaVersion, version > kSchemaVersion ? "newer" : "older"));
  }
}

// The text of every table and index, by name.
std::string SchemaText(Database& database) {
  std::string text;
  Statement row(database, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
  while (row.Step()) {
    for (int column = 0; column < row.columns(); ++column) text += row.Text(column) + '\n';
  }
  return text;
}

void RequireTablesOf(Database& database, int64_t version) {
  Database expected(":memory:");
  expected.Run(TablesOf(version).c_str());
  if (SchemaText(database) != SchemaText(expected)) {
    Refuse(database,
           fmt::format("its tables are not those of version {}; {}", version, kDamagedAdvice));
  }
}

// One long statement, during which nobody can commit. A server that runs has done it, and its
// commits shall not wait.
void RequireSoundFile(Database& database) {
  if (posix::LockFile::HolderOf(ServingFile(database.path()))) return;
  if (database.Text("PRAGMA integrity_check(1)") != "ok") Refuse(database, kDamagedAdvice);
}

// From here on the file alone holds every commit.
void KeepJournal(Database& database, int64_t version) {
  // Versions up to 3 kept a write-ahead log.
  if (version >= 4 && database.Text("PRAGMA journal_mode") == "wal") {
    Refuse(database,
           "another program gave it a write-ahead log, and without its file NAME-wal it "
           "would miss the last commits; put that file beside it and run `sqlite3 NAME "
           "'PRAGMA journal_mode = DELETE'`");
  }
  if (!database.is_read_only()) database.CommitToFile();
}

void RequireWritable(Database& database, StoreMode mode, int64_t version) {
  if (!database.is_read_only()) return;
  const bool only_reads = mode == StoreMode::kRead;
  const bool is_readable = only_reads && version == kSchemaVersion;
  if (is_readable) return;
  Refuse(database,
         fmt::format(
             "it can only be read{}; check that the file and its folder are "
             "yours and writable, or copy it to where they are",
             only_reads ? fmt::format(", and version {} must be converted first", version) : ""));
}

}  // namespace

std::string ServingFile(const std::string& path) {
  return std::filesystem::weakly_canonical(path).string() + "-serving";
}

StoreFacts ReadSchema(Database& database) {
  StoreFacts facts;
  const Marks marks = ReadMarks(database);
  facts.version = marks.version;
  RequireKnownVersion(database, marks);
  RequireSoundFile(database);
  if (facts.version < kFirstVersionWithChain) return facts;
  RequireTablesOf(database, facts.version);
  if (facts.version == 4) database.Run(kModelsOfVersion4);
  if (facts.version < 6) database.Run(kEvaluationsOfVersion5);
  if (facts.version < 7) database.Run(kFleetChangesOfVersion6);
  facts.chain = Chain(database).Verify();
  return facts;
}

void OpenSchema(Database& database, StoreMode mode) {
  const Marks marks = ReadMarks(database);
  const int64_t version = marks.version;
  const bool is_empty = marks.application == 0 && version == 0 && !marks.has_tables;
  if (!is_empty) {
    RequireKnownVersion(database, marks);
  } else if (mode != StoreMode::kCreate) {
    // The file may once have held a job, so a new store is made only on request.
    Refuse(database, "empty, not a store; `sotto keys new` creates one");
  }
  RequireSoundFile(database);
  RequireWritable(database, mode, version);
  KeepJournal(database, version);
  if (is_empty) {
    Create(database);
  } else if (version < kSchemaVersion) {
    Convert(database, version);
  }
  RequireTablesOf(database, kSchemaVersion);
  Chain(database).Verify();
  database.Run("PRAGMA foreign_keys = ON");
  database.ForgetPages();
}

}  // namespace sotto::server
