// A thin layer over SQLite: connections, statements and transactions that close themselves, and
// errors that say what to do. Part of sotto::server/backends.
//
// Every error is a std::runtime_error: the file, what failed, SQLite's reason, advice. Values bound
// to a statement never appear in a message. One connection belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "sotto/posix/held_file.h"
#include "sotto/span.h"

struct sqlite3;
struct sqlite3_stmt;

namespace sotto::server {

// What to do with a damaged file.
inline constexpr char kDamagedAdvice[] =
    "the file is damaged: restore a copy of it that was made after the last release, or begin a "
    "new job in a new store (an older copy does not know what was released after it was made)";

enum class Access {
  kWrite,
  // Nothing is written, and every attempt to write fails. Only what a killed program left of a
  // commit is undone first, where this process may write.
  kRead,
};

// Nobody keeps a store locked for longer than a commit or a short read, but a process that was
// suspended.
constexpr int kMostWaitMs = 60000;

class Database {
 public:
  // Opens an existing file, which other connections and processes may use as well. An access that
  // meets another one's commit waits for it, kMostWaitMs at most; so does a commit that meets
  // another one's transaction. All memory that SQLite frees in this process is wiped, because its
  // pages hold secrets.
  explicit Database(const std::string& path, Access access = Access::kWrite);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Every later commit is in the file itself and durable when it returns. The destructor removes
  // the empty journal; a killed process leaves it.
  void CommitToFile();

  // From now on every attempt to write fails.
  void ForbidWriting();

  // Runs statements without results, separated by semicolons.
  void Run(const char* sql);

  // The first value of the first row. The statement must have a row.
  int64_t Integer(const char* sql);
  std::string Text(const char* sql);

  // True if the file was opened to write and the system allows reading only.
  bool is_read_only() const;

  bool is_in_transaction() const;

  // Frees, and so wipes, the pages of the file that SQLite keeps in memory.
  void ForgetPages();

  // Throws for the last error of this connection; `what` completes "cannot".
  [[noreturn]] void Fail(const std::string& what) const;

  // Throws for another reason than SQLite's: "FILE: why", and `why` says what to do.
  [[noreturn]] void Refuse(const std::string& why) const;

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

  // The file that was opened, whatever its path names now. Null: a database in memory.
  posix::HeldFile* file() const { return file_.get(); }

 private:
  bool HasHalfDoneCommit() const;

  std::string path_;
  // It lives longer than the connection, whose locks the closing of any other descriptor drops.
  std::unique_ptr<posix::HeldFile> file_;
  sqlite3* handle_ = nullptr;
  bool has_journal_ = false;
};

// How SQLite stores a value.
enum class ValueType : uint8_t { kNull = 0, kInteger = 1, kReal = 2, kText = 3, kBlob = 4 };

// One prepared statement. Parameters are bound in the order of their question marks.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next parameters: integers, reals, texts, blobs. NaN and infinity become NULL; the
  // bytes of a blob must stay valid until Run() or the last Step().
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    (BindOne(values), ...);
    return *this;
  }
  // The value of another statement's row, with its type.
  Statement& BindColumn(const Statement& row, int column);

  // Moves to the next row. False after the last one.
  bool Step();

  // Runs a statement without results, then Reset().
  void Run();

  // Ends the rows and clears the parameters, so that they can be bound anew.
  void Reset();

  int columns() const;
  std::vector<std::string> names() const;  // of the columns
  ValueType Type(int column) const;

  // The row's values by column, from 0. A blob's bytes stay valid until the next Step().
  bool IsNull(int column) const;
  int64_t Integer(int column) const;
  double Real(int column) const;
  double RealOrInfinity(int column) const;  // infinity for NULL
  std::string Text(int column) const;
  ByteSpan Blob(int column) const;

 private:
  template <typename Value>
  void BindOne(const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
      BindInteger(int64_t{value});
    } else if constexpr (std::is_floating_point_v<Value>) {
      BindReal(value);
    } else if constexpr (std::is_convertible_v<const Value&, std::string>) {
      BindText(value);
    } else {
      BindBlob(value);
    }
  }
  void BindInteger(int64_t value);
  void BindReal(double value);
  void BindText(const std::string& value);
  void BindBlob(ByteSpan value);
  void Check(int result);

  Database& database_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
};

// The time that a new row keeps.
int64_t SecondsSince1970();

// The text of an insertion into these columns, with a parameter for each.
std::string InsertText(const char* table, const std::vector<std::string>& columns);

// A column of a new row and its value. The bytes of a blob must stay valid during Insert().
struct ColumnValue {
  const char* column;
  std::variant<int64_t, double, std::string, ByteSpan> value;  // NaN and infinity become NULL
};

// Adds a row to a table.
void Insert(Database& database, const char* table, const std::vector<ColumnValue>& row);

// A transaction. kWrite waits for other writers and keeps them waiting; others read on until
// Commit(). kRead sees one state of the file and keeps others from committing: make it short.
// Within another transaction it is part of that one.
//
// The destructor undoes the transaction unless Commit() was called, and then calls ForgetPages():
// the pages that were read may hold secrets, an index has a second copy of each. Statements of the
// transaction end before it does, since SQLite keeps the pages of a statement under way.
class Transaction {
 public:
  enum class Kind { kRead, kWrite };

  explicit Transaction(Database& database, Kind kind = Kind::kWrite);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Commit();  // returns when the transaction is durable

 private:
  Database& database_;
  const bool is_part_;  // of another transaction
};

}  // namespace sotto::server
