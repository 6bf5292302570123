#include "backends/sqlite.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdexcept>

#include "sotto/bytes.h"

namespace sotto::server {
namespace {

const char* Advice(int result) {
  switch (result & 0xff) {  // the primary code of an extended code
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process has kept it locked for a minute: stop or resume that one";
    case SQLITE_FULL:
    case SQLITE_IOERR:
      return "free space on its disk or repair the disk, and start again: what was committed is "
             "kept";
    case SQLITE_NOTADB:
      return "this is not a store; name another file";
    case SQLITE_CORRUPT:
      return kDamagedAdvice;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return "check that the file and its folder are yours and writable";
    default:
      return "check that the file was written by this program alone";
  }
}

sqlite3_mem_methods& DefaultMemory() {
  static sqlite3_mem_methods methods;
  return methods;
}

void WipeAndFree(void* memory) {
  SecureWipe(memory, static_cast<size_t>(DefaultMemory().xSize(memory)));
  DefaultMemory().xFree(memory);
}

void* WipingResize(void* memory, int size) {
  void* moved = DefaultMemory().xMalloc(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, memory, static_cast<size_t>(std::min(size, DefaultMemory().xSize(memory))));
  WipeAndFree(memory);
  return moved;
}

// SQLite's own memory is wiped before it is freed, pages of files included. Without effect if
// SQLite is in use already.
bool WipeMemoryOfSqlite() {
  // No pages are allocated in advance: SQLite would use them again without freeing them.
  sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 0);
  // Nor small pieces for a connection, for the same reason.
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
  if (sqlite3_config(SQLITE_CONFIG_GETMALLOC, &DefaultMemory()) != SQLITE_OK) return false;
  sqlite3_mem_methods wiping = DefaultMemory();
  wiping.xFree = WipeAndFree;
  wiping.xRealloc = WipingResize;
  return sqlite3_config(SQLITE_CONFIG_MALLOC, &wiping) == SQLITE_OK;
}

// A program that was killed within a commit leaves it half done beside its journal. A connection
// that may write undoes it with its first access. Without that right nothing happens.
void UndoHalfDoneCommit(const std::string& path) {
  sqlite3* handle = nullptr;
  if (sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    sqlite3_exec(handle, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr);
  }
  sqlite3_close(handle);
}

// Null for a database in memory, and for a file that SQLite will refuse with its reason.
std::unique_ptr<posix::HeldFile> Hold(const std::string& path) {
  if (path == ":memory:") return nullptr;
  try {
    return std::make_unique<posix::HeldFile>(path);
  } catch (const std::exception&) {
    return nullptr;
  }
}

int Open(const std::string& path, Access access, sqlite3** handle) {
  const int flags = access == Access::kWrite ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  return sqlite3_open_v2(path.c_str(), handle, flags, nullptr);
}

}  // namespace

SqliteDatabase::SqliteDatabase(const std::string& path, Access access)
    : Database(path), file_(Hold(path)) {
  static const bool kWipes = WipeMemoryOfSqlite();
  static_cast<void>(kWipes);
  const int result = Open(path, access, &handle_);
  try {
    if (result != SQLITE_OK) Fail("open it");
    sqlite3_busy_timeout(handle_, kMostWaitMs);
    Run("PRAGMA trusted_schema = OFF");
    // A large transaction does not lock readers out before it commits.
    Run("PRAGMA cache_spill = OFF");
    if (access == Access::kRead && HasHalfDoneCommit()) UndoHalfDoneCommit(path);
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

SqliteDatabase::~SqliteDatabase() {
  if (has_journal_) {
    // Left to others if they use the file now.
    sqlite3_busy_timeout(handle_, 0);
    sqlite3_exec(handle_, "SELECT 1 FROM sqlite_schema; PRAGMA journal_mode = DELETE", nullptr,
                 nullptr, nullptr);
  }
  sqlite3_close(handle_);
}

void SqliteDatabase::CommitToFile() {
  if (Text("PRAGMA journal_mode = TRUNCATE") != "truncate") Fail("keep a journal beside it");
  has_journal_ = true;
  Run("PRAGMA synchronous = EXTRA");
}

void SqliteDatabase::ForbidWriting() { Run("PRAGMA query_only = ON"); }

bool SqliteDatabase::HasHalfDoneCommit() const {
  sqlite3_exec(handle_, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr);
  return sqlite3_extended_errcode(handle_) == SQLITE_READONLY_ROLLBACK;
}

bool SqliteDatabase::is_read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

void SqliteDatabase::ForgetPages() noexcept { sqlite3_db_release_memory(handle_); }

void SqliteDatabase::Fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("{}: cannot {}: {}; {}", path(), what,
                                       sqlite3_errmsg(handle_),
                                       Advice(sqlite3_extended_errcode(handle_))));
}

void SqliteDatabase::Run(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) Fail("use it");
}

bool SqliteDatabase::is_in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void SqliteDatabase::Begin(Kind kind) { Run(kind == Kind::kRead ? "BEGIN" : "BEGIN IMMEDIATE"); }

void SqliteDatabase::Commit() { Run("COMMIT"); }

// Nothing is open after Commit(), and some errors have already undone the transaction.
void SqliteDatabase::End() noexcept {
  if (is_in_transaction()) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  ForgetPages();
}

namespace {

class SqliteStatement final : public Prepared {
 public:
  SqliteStatement(SqliteDatabase& database, const std::string& sql) : database_(database) {
    if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK) {
      database.Fail("use it");
    }
  }
  ~SqliteStatement() override { sqlite3_finalize(handle_); }
  SqliteStatement(const SqliteStatement&) = delete;
  SqliteStatement& operator=(const SqliteStatement&) = delete;

  void BindNull() override { Check(sqlite3_bind_null(handle_, ++bound_)); }
  void BindInteger(int64_t value) override { Check(sqlite3_bind_int64(handle_, ++bound_, value)); }
  void BindReal(double value) override { Check(sqlite3_bind_double(handle_, ++bound_, value)); }
  void BindText(const std::string& value) override {
    Check(sqlite3_bind_text64(handle_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                              SQLITE_UTF8));
  }
  void BindBlob(ByteSpan value) override {
    ++bound_;
    // SQLite treats a null pointer as NULL, and an empty span may hold a null pointer.
    Check(value.empty()
              ? sqlite3_bind_zeroblob(handle_, bound_, 0)
              : sqlite3_bind_blob64(handle_, bound_, value.data(), value.size(), SQLITE_STATIC));
  }
  void BindSecret(ByteSpan value) override { BindBlob(value); }

  bool Step() override {
    const int result = sqlite3_step(handle_);
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
      database_.Fail(sqlite3_stmt_readonly(handle_) != 0 ? "read it" : "write it");
    }
    return result == SQLITE_ROW;
  }
  void Reset() override {
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
    bound_ = 0;
  }

  int columns() const override { return sqlite3_column_count(handle_); }
  std::string name(int column) const override { return sqlite3_column_name(handle_, column); }
  ValueType Type(int column) const override {
    switch (sqlite3_column_type(handle_, column)) {
      case SQLITE_INTEGER:
        return ValueType::kInteger;
      case SQLITE_FLOAT:
        return ValueType::kReal;
      case SQLITE_TEXT:
        return ValueType::kText;
      case SQLITE_BLOB:
        return ValueType::kBlob;
      default:
        return ValueType::kNull;
    }
  }
  int64_t Integer(int column) const override { return sqlite3_column_int64(handle_, column); }
  double Real(int column) const override { return sqlite3_column_double(handle_, column); }
  ByteSpan Blob(int column) const override {
    static constexpr uint8_t kEmpty[1] = {};
    const void* bytes = sqlite3_column_blob(handle_, column);
    if (bytes == nullptr) return {kEmpty, 0};
    return {static_cast<const uint8_t*>(bytes),
            static_cast<size_t>(sqlite3_column_bytes(handle_, column))};
  }

 private:
  void Check(int result) {
    if (result != SQLITE_OK) database_.Fail("use it");
  }

  SqliteDatabase& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> SqliteDatabase::Prepare(const std::string& sql) {
  return std::make_unique<SqliteStatement>(*this, sql);
}

}  // namespace sotto::server
