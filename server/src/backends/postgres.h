// The SQL layer (sql.h) over PostgreSQL, by libpq. Part of sotto::server/backends.
//
// A transaction that writes holds the advisory lock kWriters of its schema: writers take turns, and
// each statement sees all that was committed before. One that reads is REPEATABLE READ, READ ONLY:
// it sees one moment, and nobody waits for it. A statement's result is read whole.
//
// Secrets (SecretBytes) are wrapped by a key that the server holds in a file (store_key.h), so that
// neither the database's files, nor its archived log, nor its dumps hold them in the clear.
//
// The session ends itself where this process keeps a transaction open without a word for
// kMostIdleMs: a process that was suspended does not hold up the others.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backends/sql.h"
#include "backends/store_key.h"

struct pg_conn;
struct pg_result;

namespace sotto::server {

// postgresql://[USER@]HOST[:PORT]/DATABASE[?key=FILE&...] as libpq reads it, but for `key`.
struct PostgresName {
  std::string text;      // as it was given
  std::string uri;       // without `key`
  std::string key_file;  // store_key.h; by default kDefaultKeyFile
  std::string database;  // of the URI; empty: libpq's default
};

constexpr char kDefaultKeyFile[] = "sotto-store.key";

// Throws std::invalid_argument for a name that libpq does not read, and for one with a password: a
// command line is no secret.
PostgresName ParsePostgresName(const std::string& where);

class PostgresDatabase final : public Database {
 public:
  static constexpr int kMostWaitMs = 60000;  // for a lock
  static constexpr int kMostIdleMs = 10000;

  // Advisory locks, each a second number beside the schema's.
  enum Lock { kWriters = 1, kServer = 2 };

  // Throws StoreLost if the database cannot be reached now, std::runtime_error if it refuses.
  //   what  of this connection, for pg_stat_activity: "sotto serve"
  PostgresDatabase(const PostgresName& name, Access access, const char* what);
  ~PostgresDatabase() override;

  // From now on values that are bound as secrets, and columns of secrets, are under this key.
  void Use(std::shared_ptr<const StoreKey> key) { key_ = std::move(key); }

  void Run(const char* sql) override;
  bool is_in_transaction() const override { return is_in_transaction_; }
  void Begin(Kind kind) override;
  // Throws StoreLost if the connection broke: the transaction was then committed, or not.
  void Commit() override;
  void End() noexcept override;
  std::unique_ptr<Prepared> Prepare(const std::string& sql) override;

  // For the statements of this connection.
  struct Parameter {
    unsigned type = 0;  // an OID; 0: NULL
    std::string bytes;  // as PostgreSQL sends it
  };
  using Result = std::unique_ptr<pg_result, void (*)(pg_result*)>;
  Result Execute(const std::string& sql, const std::vector<Parameter>& parameters);
  // Whether a result's column is one of SecretColumns(), of a table, with bytes.
  bool IsSecret(const pg_result* result, int column) const;
  std::vector<uint8_t> Wrap(ByteSpan secret) const;
  std::vector<uint8_t> Unwrap(ByteSpan wrapped) const;

 private:
  void Check(const pg_result* result, const char* what);
  [[noreturn]] void FailConnection(const char* what);
  void SetUp(Access access);

  pg_conn* connection_ = nullptr;
  std::shared_ptr<const StoreKey> key_;
  std::map<std::string, std::string> prepared_;  // names of statements by text and types
  bool is_in_transaction_ = false;
  bool has_warned_ = false;  // the server, since the last statement
};

}  // namespace sotto::server
