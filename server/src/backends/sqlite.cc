#include "backends/sqlite.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <ctime>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits>
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

Database::Database(const std::string& path, Access access) : path_(path), file_(Hold(path)) {
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

Database::~Database() {
  if (has_journal_) {
    // Left to others if they use the file now.
    sqlite3_busy_timeout(handle_, 0);
    sqlite3_exec(handle_, "SELECT 1 FROM sqlite_schema; PRAGMA journal_mode = DELETE", nullptr,
                 nullptr, nullptr);
  }
  sqlite3_close(handle_);
}

void Database::CommitToFile() {
  if (Text("PRAGMA journal_mode = TRUNCATE") != "truncate") Fail("keep a journal beside it");
  has_journal_ = true;
  Run("PRAGMA synchronous = EXTRA");
}

void Database::ForbidWriting() { Run("PRAGMA query_only = ON"); }

bool Database::HasHalfDoneCommit() const {
  sqlite3_exec(handle_, "SELECT 1 FROM sqlite_schema", nullptr, nullptr, nullptr);
  return sqlite3_extended_errcode(handle_) == SQLITE_READONLY_ROLLBACK;
}

bool Database::is_read_only() const { return sqlite3_db_readonly(handle_, "main") == 1; }

bool Database::is_in_transaction() const { return sqlite3_get_autocommit(handle_) == 0; }

void Database::ForgetPages() { sqlite3_db_release_memory(handle_); }

void Database::Fail(const std::string& what) const {
  throw std::runtime_error(fmt::format("{}: cannot {}: {}; {}", path_, what,
                                       sqlite3_errmsg(handle_),
                                       Advice(sqlite3_extended_errcode(handle_))));
}

void Database::Refuse(const std::string& why) const {
  throw std::runtime_error(path_ + ": " + why);
}

void Database::Run(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) Fail("use it");
}

int64_t Database::Integer(const char* sql) {
  Statement statement(*this, sql);
  statement.Step();
  return statement.Integer(0);
}

std::string Database::Text(const char* sql) {
  Statement statement(*this, sql);
  statement.Step();
  return statement.Text(0);
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  if (sqlite3_prepare_v2(database.handle(), sql.c_str(), -1, &handle_, nullptr) != SQLITE_OK) {
    database.Fail("use it");
  }
}

Statement::~Statement() { sqlite3_finalize(handle_); }

void Statement::Check(int result) {
  if (result != SQLITE_OK) database_.Fail("use it");
}

void Statement::BindInteger(int64_t value) { Check(sqlite3_bind_int64(handle_, ++bound_, value)); }

void Statement::BindReal(double value) {
  ++bound_;
  Check(std::isfinite(value) ? sqlite3_bind_double(handle_, bound_, value)
                             : sqlite3_bind_null(handle_, bound_));
}

void Statement::BindText(const std::string& value) {
  Check(sqlite3_bind_text64(handle_, ++bound_, value.data(), value.size(), SQLITE_TRANSIENT,
                            SQLITE_UTF8));
}

void Statement::BindBlob(ByteSpan value) {
  ++bound_;
  // SQLite treats a null pointer as NULL, and an empty span may hold a null pointer.
  Check(value.empty()
            ? sqlite3_bind_zeroblob(handle_, bound_, 0)
            : sqlite3_bind_blob64(handle_, bound_, value.data(), value.size(), SQLITE_STATIC));
}

Statement& Statement::BindColumn(const Statement& row, int column) {
  Check(sqlite3_bind_value(handle_, ++bound_, sqlite3_column_value(row.handle_, column)));
  return *this;
}

bool Statement::Step() {
  const int result = sqlite3_step(handle_);
  if (result != SQLITE_ROW && result != SQLITE_DONE) {
    database_.Fail(sqlite3_stmt_readonly(handle_) != 0 ? "read it" : "write it");
  }
  return result == SQLITE_ROW;
}

void Statement::Run() {
  Step();
  Reset();
}

void Statement::Reset() {
  sqlite3_reset(handle_);
  sqlite3_clear_bindings(handle_);
  bound_ = 0;
}

int Statement::columns() const { return sqlite3_column_count(handle_); }

ValueType Statement::Type(int column) const {
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

std::vector<std::string> Statement::names() const {
  std::vector<std::string> names;
  for (int i = 0; i < columns(); ++i) names.emplace_back(sqlite3_column_name(handle_, i));
  return names;
}

bool Statement::IsNull(int column) const {
  return sqlite3_column_type(handle_, column) == SQLITE_NULL;
}

int64_t Statement::Integer(int column) const { return sqlite3_column_int64(handle_, column); }

double Statement::Real(int column) const { return sqlite3_column_double(handle_, column); }

double Statement::RealOrInfinity(int column) const {
  return IsNull(column) ? std::numeric_limits<double>::infinity() : Real(column);
}

std::string Statement::Text(int column) const {
  const ByteSpan bytes = Blob(column);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

ByteSpan Statement::Blob(int column) const {
  static constexpr uint8_t kEmpty[1] = {};
  const void* bytes = sqlite3_column_blob(handle_, column);
  if (bytes == nullptr) return {kEmpty, 0};
  return {static_cast<const uint8_t*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(handle_, column))};
}

int64_t SecondsSince1970() { return static_cast<int64_t>(std::time(nullptr)); }

std::string InsertText(const char* table, const std::vector<std::string>& columns) {
  const std::vector<const char*> marks(columns.size(), "?");
  return fmt::format("INSERT INTO {} ({}) VALUES ({})", table, fmt::join(columns, ", "),
                     fmt::join(marks, ", "));
}

void Insert(Database& database, const char* table, const std::vector<ColumnValue>& row) {
  std::vector<std::string> columns;
  for (const ColumnValue& cell : row) columns.emplace_back(cell.column);
  Statement insert(database, InsertText(table, columns));
  for (const ColumnValue& cell : row) {
    std::visit([&](const auto& value) { insert.Bind(value); }, cell.value);
  }
  insert.Run();
}

Transaction::Transaction(Database& database, Kind kind)
    : database_(database), is_part_(kind == Kind::kRead && database.is_in_transaction()) {
  if (!is_part_) database_.Run(kind == Kind::kRead ? "BEGIN" : "BEGIN IMMEDIATE");
}

Transaction::~Transaction() {
  if (is_part_) return;
  // Nothing is open after Commit(), and some errors have already undone the transaction.
  if (database_.is_in_transaction()) {
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
  }
  database_.ForgetPages();
}

void Transaction::Commit() { database_.Run("COMMIT"); }

}  // namespace sotto::server
