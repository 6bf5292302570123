// A thin layer over SQL: statements and transactions that close themselves, over one interface of a
// connection, which SQLite (sqlite.h) and PostgreSQL (postgres.h) implement. Part of
// sotto::server/backends.
//
// The statements here are of the part of SQL that both read alike. Parameters are question marks,
// bound in their order. A value is an integer of 64 bits, a double, a text or bytes, or NULL.
//
// Every error is a std::runtime_error: the database, what failed, its reason, advice. Values bound
// to a statement never appear in a message. One connection belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "sotto/span.h"

namespace sotto::server {

enum class Access {
  kWrite,
  // Nothing is written, and every attempt to write fails.
  kRead,
};

// What to do with a damaged store.
inline constexpr char kDamagedAdvice[] =
    "the file is damaged: restore a copy of it that was made after the last release, or begin a "
    "new job in a new store (an older copy does not know what was released after it was made)";

// How a database stores a value.
enum class ValueType : uint8_t { kNull = 0, kInteger = 1, kReal = 2, kText = 3, kBlob = 4 };

// One statement of a connection: what Statement, below, is to a database.
class Prepared {
 public:
  virtual ~Prepared() = default;

  // The next parameter. A blob's bytes must stay valid until Reset() or the last Step().
  virtual void BindNull() = 0;
  virtual void BindInteger(int64_t value) = 0;
  virtual void BindReal(double value) = 0;  // finite
  virtual void BindText(const std::string& value) = 0;
  virtual void BindBlob(ByteSpan value) = 0;
  // Bytes that the database must not hold in the clear, if others than its file's owner read it.
  virtual void BindSecret(ByteSpan value) = 0;

  virtual bool Step() = 0;
  virtual void Reset() = 0;

  virtual int columns() const = 0;
  virtual std::string name(int column) const = 0;
  virtual ValueType Type(int column) const = 0;
  virtual int64_t Integer(int column) const = 0;
  virtual double Real(int column) const = 0;
  // Of a text, too. A column of secrets has the bytes that were bound.
  virtual ByteSpan Blob(int column) const = 0;
};

// A connection.
class Database {
 public:
  explicit Database(std::string name) : name_(std::move(name)) {}
  virtual ~Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // For messages.
  const std::string& name() const { return name_; }

  // Runs statements without results, separated by semicolons.
  virtual void Run(const char* sql) = 0;

  // The first value of the first row. The statement must have a row.
  int64_t Integer(const char* sql);
  std::string Text(const char* sql);

  // Throws for another reason than the database's: "NAME: why", and `why` says what to do.
  [[noreturn]] void Refuse(const std::string& why) const;

  // For Transaction and Statement.
  enum class Kind { kRead, kWrite };
  virtual bool is_in_transaction() const = 0;
  virtual void Begin(Kind kind) = 0;
  virtual void Commit() = 0;
  // Nothing happens if there is no transaction. Then, or after a commit, the database's memory of
  // what was read is wiped.
  virtual void End() noexcept = 0;
  virtual std::unique_ptr<Prepared> Prepare(const std::string& sql) = 0;

 private:
  const std::string name_;
};

// Bytes that a database with other readers holds under a key (postgres.h).
struct SecretBytes {
  ByteSpan bytes;
};

// One prepared statement. Parameters are bound in the order of their question marks.
class Statement {
 public:
  Statement(Database& database, const std::string& sql) : prepared_(database.Prepare(sql)) {}

  // Binds the next parameters: integers, reals, texts, blobs, secrets. NaN and infinity become
  // NULL; the bytes of a blob must stay valid until Run() or the last Step().
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    (BindOne(values), ...);
    return *this;
  }

  // Moves to the next row. False after the last one.
  bool Step() { return prepared_->Step(); }

  // Runs a statement without results, then Reset().
  void Run();

  // Ends the rows and clears the parameters, so that they can be bound anew.
  void Reset() { prepared_->Reset(); }

  int columns() const { return prepared_->columns(); }
  std::vector<std::string> names() const;  // of the columns
  ValueType Type(int column) const { return prepared_->Type(column); }

  // The row's values by column, from 0. A blob's bytes stay valid until the next Step().
  bool IsNull(int column) const { return Type(column) == ValueType::kNull; }
  int64_t Integer(int column) const { return prepared_->Integer(column); }
  double Real(int column) const { return prepared_->Real(column); }
  double RealOrInfinity(int column) const;  // infinity for NULL
  std::string Text(int column) const;
  ByteSpan Blob(int column) const { return prepared_->Blob(column); }

 private:
  template <typename Value>
  void BindOne(const Value& value) {
    if constexpr (std::is_integral_v<Value>) {
      prepared_->BindInteger(int64_t{value});
    } else if constexpr (std::is_floating_point_v<Value>) {
      BindReal(value);
    } else if constexpr (std::is_same_v<Value, SecretBytes>) {
      prepared_->BindSecret(value.bytes);
    } else if constexpr (std::is_convertible_v<const Value&, std::string>) {
      prepared_->BindText(value);
    } else {
      prepared_->BindBlob(value);
    }
  }
  void BindReal(double value);

  std::unique_ptr<Prepared> prepared_;
};

// The time that a new row keeps.
int64_t SecondsSince1970();

// A column of a new row and its value. The bytes of a blob must stay valid during Insert().
struct ColumnValue {
  const char* column;
  std::variant<int64_t, double, std::string, ByteSpan, SecretBytes> value;  // as Bind() takes it
};

// Adds a row to a table.
void Insert(Database& database, const char* table, const std::vector<ColumnValue>& row);

// Copies the rows of a statement, one by one, into a table of any database whose columns have the
// same names.
class RowCopy {
 public:
  //   row      must outlive the copy
  //   secrets  names of the columns that hold secrets
  RowCopy(const Statement& row, const char* table, const std::vector<std::string>& secrets,
          Database& copy);

  void CopyRow();

 private:
  const Statement& row_;
  std::vector<bool> is_secret_;
  Statement insert_;
};

// A transaction. kWrite waits for other writers and keeps them waiting; others read on until
// Commit(). kRead sees one state of the database, and may keep others from committing: make it
// short. Within another transaction it is part of that one.
//
// The destructor undoes the transaction unless Commit() was called. Statements of the transaction
// end before it does.
class Transaction {
 public:
  using Kind = Database::Kind;

  explicit Transaction(Database& database, Kind kind = Kind::kWrite);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void Commit() { database_.Commit(); }  // returns when the transaction is durable

 private:
  Database& database_;
  const bool is_part_;  // of another transaction
};

}  // namespace sotto::server
