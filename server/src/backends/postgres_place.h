// A store in a PostgreSQL database: its tables, and which process serves it. Part of
// sotto::server/backends.
//
// The store is in the connection's schema, alone: the tables of sql_tables.h, and `place`, which
// says the schema's version, and who serves the store in which epoch.
//
// One process serves. It holds an advisory lock by a second connection, which asks the database
// something each second from a second thread; PostgreSQL itself ends that session when it was
// silent for kMostSilentMs, so a server that was killed, suspended or cut off loses the lock. The
// process that gets it begins the next epoch. Each commit of a server looks, within its
// transaction, whether the epoch is still its own: a server that comes back late writes nothing.
//
// A standby of the database that may lack a commit has forgotten releases when it is promoted. So
// nothing is served from a database that has a standby, or a slot for one, for which commits do not
// wait: synchronous_standby_names must name all of them, and as many as it waits for, `FIRST n` or
// `ANY n` of n names. The same with fsync or full_page_writes off. It is looked at before the store
// is claimed, and once a second after that. Receipts find a promotion that went wrong even so
// (round/receipts.h).
//
// One thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "backends/postgres.h"
#include "backends/sqlite_draft.h"
#include "backends/store_place.h"

namespace sotto::server {

class PostgresPlace final : public StorePlace {
 public:
  static constexpr int kMostSilentMs = 5000;

  // Throws as SqlitePlace does, StoreLost if the database is away.
  PostgresPlace(const std::string& where, StoreMode mode);
  ~PostgresPlace() override;

  // Whether the database has a store.
  static bool Exists(const std::string& where);

  // As FillNewStore() says (open_store.h).
  static void Make(const std::string& where, const FillTables& fill);

  Database& database() override { return database_; }
  const ChainHead& head() const override { return head_; }

  // Throw StoreLost if this process served the store and does so no more.
  void RequireHere() override { RequireServer(); }
  void RequireStillHere() override {}
  void RequireServer() override;

  // Throws ServedByAnother, StoreLost, and what a database without durable commits deserves.
  void Claim() override;
  std::optional<std::string> Server() override;

 private:
  ChainHead Open(StoreMode mode);
  void Watch();

  const PostgresName name_;
  PostgresDatabase database_;
  ChainHead head_;

  int64_t epoch_ = 0;  // from Claim() on
  std::unique_ptr<PostgresDatabase> lock_;
  std::thread watch_;
  std::mutex mutex_;  // guards the rest
  std::condition_variable wake_;
  bool is_over_ = false;
  std::string lost_;  // why this process serves no more
};

}  // namespace sotto::server
