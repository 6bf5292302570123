#include "backends/sqlite_schema.h"

#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <optional>

#include "backends/sql_tables.h"
#include "sotto/posix/lock_file.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr int64_t kApplicationId = 0x536f7474;  // "Sott"

int64_t VersionOf(SqliteDatabase& database) { return database.Integer("PRAGMA user_version"); }

void Create(SqliteDatabase& database) {
  Transaction transaction(database);
  if (VersionOf(database) != 0) return;  // another process was faster
  MakeTables(database);
  BeginLog(database);
  transaction.Commit();
}

// What a file says of itself.
struct Marks {
  int64_t application = 0;
  int64_t version = 0;
  bool has_tables = false;

  bool are_of_an_empty_file() const { return application == 0 && version == 0 && !has_tables; }
};

// Of one moment: another process may be creating the store.
Marks ReadMarks(SqliteDatabase& database) {
  const Transaction moment(database, Transaction::Kind::kRead);
  return {database.Integer("PRAGMA application_id"), VersionOf(database),
          database.Integer("SELECT count(*) FROM sqlite_schema") > 0};
}

[[noreturn]] void RefuseVersion(const SqliteDatabase& database, int64_t version, bool is_newer) {
  database.Refuse(
      fmt::format("a store of version {}, and this program reads stores of version {} alone; "
                  "use the {} program that wrote it{}",
                  version, kSchemaVersion, is_newer ? "newer" : "older",
                  is_newer ? ""
                           : ", or begin in a new store (`sotto keys new` creates one), which "
                             "does not know what the devices of this one have spent"));
}

void RequireThisVersion(const SqliteDatabase& database, const Marks& marks) {
  if (marks.application != kApplicationId) {
    database.Refuse("a database of another program, not a store; name another file");
  }
  if (marks.version == kSchemaVersion) return;
  RefuseVersion(database, marks.version, marks.version > kSchemaVersion);
}

// The text of every table and index, by name.
std::string SchemaText(SqliteDatabase& database) {
  std::string text;
  Statement row(database, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name");
  while (row.Step()) {
    for (int column = 0; column < row.columns(); ++column) text += row.Text(column) + '\n';
  }
  return text;
}

void RequireTables(SqliteDatabase& database) {
  SqliteDatabase expected(":memory:");
  expected.Run(kTables);
  if (SchemaText(database) != SchemaText(expected)) {
    database.Refuse(fmt::format("it does not have the tables of version {}; {}", kSchemaVersion,
                                kDamagedAdvice));
  }
}

// A program before the first release may have converted the store: such a store can lack the first
// model of a job, and charge attempts that this program does not know of.
void RequireBegunAsThisVersion(SqliteDatabase& database) {
  const int64_t former = database.Integer("SELECT former_version FROM store");
  if (former != 0) RefuseVersion(database, former, false);
}

// One long statement, during which nobody can commit. A server that runs has done it, and its
// commits shall not wait.
void RequireSoundFile(SqliteDatabase& database) {
  if (posix::LockFile::HolderOf(ServingFile(database.path()))) return;
  if (database.Text("PRAGMA integrity_check(1)") != "ok") database.Refuse(kDamagedAdvice);
}

ChainHead VerifyRecords(SqliteDatabase& database) {
  RequireTables(database);
  const ChainHead head = Chain(database).Verify();
  RequireBegunAsThisVersion(database);
  return head;
}

// From here on the file alone holds every commit.
void KeepJournal(SqliteDatabase& database) {
  if (database.Text("PRAGMA journal_mode") == "wal") {
    database.Refuse(
        "another program gave it a write-ahead log, and without its file NAME-wal it "
        "would miss the last commits; put that file beside it and run `sqlite3 NAME "
        "'PRAGMA journal_mode = DELETE'`");
  }
  if (!database.is_read_only()) database.CommitToFile();
}

void RequireWritable(const SqliteDatabase& database, StoreMode mode) {
  if (!database.is_read_only() || mode == StoreMode::kRead) return;
  database.Refuse(
      "it can only be read; check that the file and its folder are yours and writable, or copy "
      "it to where they are");
}

}  // namespace

void MakeTables(SqliteDatabase& database) {
  database.Run(kTables);
  database.Run(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId,
                           kSchemaVersion)
                   .c_str());
}

std::string ServingFile(const std::string& path) {
  return std::filesystem::weakly_canonical(path).string() + "-serving";
}

ChainHead ReadSchema(SqliteDatabase& database) {
  RequireThisVersion(database, ReadMarks(database));
  RequireSoundFile(database);
  return VerifyRecords(database);
}

ChainHead OpenSchema(SqliteDatabase& database, StoreMode mode) {
  const Marks marks = ReadMarks(database);
  const bool is_empty = marks.are_of_an_empty_file();
  if (!is_empty) {
    RequireThisVersion(database, marks);
  } else if (mode != StoreMode::kCreate) {
    // The file may once have held a job, so a new store is made only on request.
    database.Refuse("empty, not a store; `sotto keys new` creates one");
  }
  RequireSoundFile(database);
  RequireWritable(database, mode);
  KeepJournal(database);
  if (is_empty) Create(database);
  const ChainHead head = VerifyRecords(database);
  database.Run("PRAGMA foreign_keys = ON");
  database.ForgetPages();
  return head;
}

}  // namespace sotto::server
