#include "backends/postgres_place.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <set>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "backends/sql_tables.h"
#include "sotto/posix/process.h"

namespace sotto::server {
namespace {

constexpr auto kLookEvery = std::chrono::seconds(1);
constexpr std::string_view kKeyCheck = "the key of this store";

// What says that the schema is a store's, and what only this kind of store has.
constexpr char kPlaceTables[] = R"sql(
CREATE TABLE place (
  one BIGINT PRIMARY KEY CHECK (one = 1),
  application TEXT NOT NULL,
  version BIGINT NOT NULL,
  key_check BYTEA NOT NULL,  -- a text that is known, under the store's key
  epoch BIGINT NOT NULL,     -- how many servers have begun to serve the store
  server TEXT NOT NULL,      -- the last one of them
  since BIGINT NOT NULL
);
CREATE FUNCTION json_extract(document text, path text) RETURNS bigint
  LANGUAGE sql IMMUTABLE STRICT
  AS $$ SELECT (document::json ->> substr(path, 3))::bigint $$;
)sql";

void Replace(std::string* text, const std::string& from, const std::string& to) {
  for (size_t at = text->find(from); at != std::string::npos; at = text->find(from, at)) {
    text->replace(at, from.size(), to);
    at += to.size();
  }
}

// The tables of sql_tables.h in PostgreSQL's words. Secrets are longer: they are wrapped.
std::string Tables() {
  std::string tables = kTables;
  Replace(&tables, ") STRICT, WITHOUT ROWID;", ");");
  Replace(&tables, ") STRICT;", ");");
  Replace(&tables, "receipt_key BLOB NOT NULL CHECK (length(receipt_key) = 32)",
          "receipt_key BYTEA NOT NULL");
  Replace(&tables, " CHECK (length(secret) = 32)", "");
  Replace(&tables, " BLOB", " BYTEA");
  Replace(&tables, " INTEGER", " BIGINT");
  Replace(&tables, " REAL", " DOUBLE PRECISION");
  return tables + kPlaceTables;
}

bool HasPlace(Database& database) {
  return database.Integer(
             "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND "
             "tablename = 'place'") != 0;
}

// What synchronous_standby_names says: how many standbys a commit waits for, of how many names.
struct Waited {
  size_t count = 0;
  std::vector<std::string> names;  // lower case, as PostgreSQL compares them

  bool Has(const std::string& name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  bool is_of_all() const {
    const std::set<std::string> different(names.begin(), names.end());
    return count == names.size() && different.size() == names.size() && !Has("*");
  }
};

std::string Lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// [FIRST | ANY] n (name, ...), or name, ..., which is FIRST 1. A quoted name without a number
// before it may have any characters, and counts as one name.
Waited ParseStandbyNames(const std::string& setting) {
  Waited waited;
  std::string text = setting;
  const size_t open = text.find('(');
  const bool has_count = open != std::string::npos && text.find('"') > open;
  if (has_count) {
    const size_t digits = std::min(text.find_first_of("0123456789"), open);
    waited.count = static_cast<size_t>(std::atoi(text.c_str() + digits));
    text = text.substr(open + 1, text.rfind(')') - open - 1);
  }
  std::string name;
  for (const char c : text + ",") {
    if (c == ',') {
      if (!name.empty()) waited.names.push_back(Lower(name));
      name.clear();
    } else if (std::isspace(static_cast<unsigned char>(c)) == 0 && c != '"') {
      name += c;
    }
  }
  if (!has_count) waited.count = waited.names.empty() ? 0 : 1;
  return waited;
}

constexpr char kStandbyAdvice[] =
    "a standby that lacks a commit has forgotten a release when it is promoted; set "
    "synchronous_standby_names to 'FIRST n (names of all n standbys)', or remove the standby and "
    "its slot";

// Why commits may miss a standby. One that is named and not here, or that still catches up, is
// waited for.
std::string WhyNotOnAllStandbys(Database& database, const Waited& waited) {
  std::set<std::string> seen;
  Statement standby(database,
                    "SELECT application_name, state FROM pg_stat_replication WHERE state IS "
                    "DISTINCT FROM 'backup' AND application_name IS DISTINCT FROM 'pg_basebackup'");
  while (standby.Step()) {
    if (standby.IsNull(1)) {
      return "this role cannot see the state of its standbys: GRANT pg_read_all_stats to it";
    }
    const std::string name = standby.Text(0);
    if (!waited.Has(Lower(name))) {
      return fmt::format("commits do not wait for its standby {}: {}", name, kStandbyAdvice);
    }
    if (!seen.insert(Lower(name)).second) {
      return fmt::format(
          "two of its standbys have the name {}, and a commit waits for one of "
          "them: give each its own application_name",
          name);
    }
  }
  const int64_t slots = database.Integer(
      "SELECT count(*) FROM pg_replication_slots WHERE slot_type = 'physical' AND NOT active");
  const size_t away = waited.names.size() - seen.size();
  if (slots <= static_cast<int64_t>(away)) return "";
  return fmt::format(
      "it has {} unused replication slots, and commits wait for {} standbys that are not "
      "connected: {}",
      slots, away, kStandbyAdvice);
}

// Why a store is not served from this database; empty: it is. Throws StoreLost for a standby: it
// may be promoted soon.
std::string WhyNotDurable(Database& database) {
  Statement row(database,
                "SELECT pg_is_in_recovery(), current_setting('fsync'), "
                "current_setting('full_page_writes'), "
                "current_setting('synchronous_standby_names')");
  row.Step();
  if (row.Integer(0) != 0) {
    throw StoreLost(database.name() +
                    ": this is a standby; name the database that it follows, or promote it");
  }
  if (row.Text(1) != "on" || row.Text(2) != "on") {
    return "fsync or full_page_writes is off: a power failure would take releases that devices "
           "have seen; set both to on";
  }
  const Waited waited = ParseStandbyNames(row.Text(3));
  if (!waited.is_of_all()) {
    return fmt::format(
        "synchronous_standby_names is '{}', for which a commit does not wait for "
        "all standbys that may be promoted: {}",
        row.Text(3), kStandbyAdvice);
  }
  return WhyNotOnAllStandbys(database, waited);
}

void UseKey(const PostgresName& name, PostgresDatabase* database) {
  if (!std::filesystem::exists(name.key_file)) {
    database->Refuse(fmt::format(
        "the key of its secrets, {}, is not there; copy it from another server of this store, or "
        "say where it is: ?key=FILE",
        name.key_file));
  }
  database->Use(std::make_shared<const StoreKey>(name.key_file));
}

// Returns false if another process was faster.
bool MakeIn(const PostgresName& name, PostgresDatabase& database, const FillTables& fill) {
  if (!std::filesystem::exists(name.key_file)) StoreKey::Create(name.key_file);
  UseKey(name, &database);
  Transaction transaction(database);
  if (HasPlace(database)) return false;
  if (database.Integer("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()") != 0) {
    database.Refuse(
        "it has tables of another program and no store; name a database, or by "
        "?options=-csearch_path%3DNAME a schema, that is empty");
  }
  if (database.Text("SELECT current_setting('server_encoding')") != "UTF8") {
    database.Refuse(
        "its encoding is not UTF8; make one: createdb --encoding UTF8 --template template0");
  }
  database.Run(Tables().c_str());
  const ByteSpan check(reinterpret_cast<const uint8_t*>(kKeyCheck.data()), kKeyCheck.size());
  const std::vector<uint8_t> wrapped = database.Wrap(check);
  Insert(database, "place",
         {{"one", 1},
          {"application", "sotto"},
          {"version", kSchemaVersion},
          {"key_check", ByteSpan(wrapped.data(), wrapped.size())},
          {"epoch", 0},
          {"server", ""},
          {"since", 0}});
  fill(database);
  Chain(database).Verify();
  transaction.Commit();
  return true;
}

constexpr int kServer = PostgresDatabase::kServer;

}  // namespace

PostgresPlace::PostgresPlace(const std::string& where, StoreMode mode)
    : name_(ParsePostgresName(where)),
      database_(name_, mode == StoreMode::kRead ? Access::kRead : Access::kWrite, "sotto"),
      head_(Open(mode)) {}

PostgresPlace::~PostgresPlace() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  if (watch_.joinable()) watch_.join();
  try {  // the next server need not wait until the session is gone
    if (lock_) lock_->Run("SELECT pg_advisory_unlock_all()");
  } catch (const std::exception&) {
  }
}

bool PostgresPlace::Exists(const std::string& where) {
  PostgresDatabase database(ParsePostgresName(where), Access::kRead, "sotto");
  return HasPlace(database);
}

void PostgresPlace::Make(const std::string& where, const FillTables& fill) {
  const PostgresName name = ParsePostgresName(where);
  PostgresDatabase database(name, Access::kWrite, "sotto");
  if (MakeIn(name, database, fill)) return;
  database.Refuse("it has a store already; name another database");
}

ChainHead PostgresPlace::Open(StoreMode mode) {
  if (database_.Integer("SELECT count(current_schema())") == 0) {
    database_.Refuse("its search_path names no schema that there is; create it");
  }
  if (!HasPlace(database_)) {
    // The database may once have held a job, so a new store is made only on request.
    if (mode != StoreMode::kCreate) {
      database_.Refuse("it has no store; `sotto keys new` creates one");
    }
    MakeIn(name_, database_, BeginLog);
  }
  Statement row(database_, "SELECT application, version, key_check FROM place");
  if (!row.Step() || row.Text(0) != "sotto") {
    database_.Refuse("its table `place` is of another program; name another database or schema");
  }
  if (row.Integer(1) != kSchemaVersion) {
    database_.Refuse(fmt::format(
        "a store of version {}, and this program reads stores of version {} alone; use the program "
        "that wrote it",
        row.Integer(1), kSchemaVersion));
  }
  UseKey(name_, &database_);
  (void)database_.Unwrap(row.Blob(2));
  return Chain(database_).Verify();
}

void PostgresPlace::RequireServer() {
  if (lock_ == nullptr) return;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!lost_.empty()) throw StoreLost(lost_);
  }
  Statement row(database_, "SELECT epoch, server FROM place");
  row.Step();
  if (row.Integer(0) == epoch_) return;
  throw StoreLost(fmt::format("{}: process {} has taken over while this server was away",
                              name_.text, row.Text(1)));
}

void PostgresPlace::Claim() {
  if (lock_ != nullptr) return RequireServer();
  auto lock = std::make_unique<PostgresDatabase>(name_, Access::kRead, "sotto serve");
  lock->Run(fmt::format("SET idle_session_timeout = {}", kMostSilentMs).c_str());
  const std::string try_lock =
      fmt::format("SELECT pg_try_advisory_lock(hashtext(current_schema()), {})", kServer);
  if (lock->Integer(try_lock.c_str()) == 0) {
    throw ServedByAnother(fmt::format("{}: process {} serves it already; stop that one first",
                                      name_.text, Server().value_or("unknown")));
  }
  const std::string why = WhyNotDurable(*lock);
  if (!why.empty()) database_.Refuse(why);
  database_.Run("SET lock_timeout = 0");  // another one's commit may wait for a standby
  lock_ = std::move(lock);
  // The next line may wait for the former server's last transaction: the lock is watched meanwhile.
  watch_ = std::thread([this] { Watch(); });
  Transaction transaction(database_);
  Statement next(database_, "UPDATE place SET epoch = epoch + 1, server = ?, since = ?");
  next.Bind(posix::ThisProcess(), SecondsSince1970()).Run();
  const int64_t epoch = database_.Integer("SELECT epoch FROM place");
  transaction.Commit();
  epoch_ = epoch;
}

void PostgresPlace::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (lost_.empty() && !wake_.wait_for(lock, kLookEvery, [this] { return is_over_; })) {
    lock.unlock();
    std::string lost;
    try {
      const std::string why = WhyNotDurable(*lock_);
      if (!why.empty()) lost = fmt::format("{}: {}", name_.text, why);
    } catch (const std::exception& error) {
      lost = error.what();
    }
    lock.lock();
    lost_ = lost;
  }
}

std::optional<std::string> PostgresPlace::Server() {
  const std::string holders = fmt::format(  // objsubid 2: a lock of two numbers
      "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND classid = "
      "hashtext(current_schema())::oid AND objid = {} AND granted AND database = (SELECT oid FROM "
      "pg_database WHERE datname = current_database())",
      kServer);
  const bool is_served = database_.Integer(holders.c_str()) != 0;
  if (!is_served) return std::nullopt;
  std::string server = database_.Text("SELECT server FROM place");
  return server.empty() ? "unknown" : server;  // it has not begun its epoch yet
}

}  // namespace sotto::server
