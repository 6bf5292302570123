// A PostgreSQL database whose server, connections and network are simulated, and a store's place in
// it.
//
// What is committed is the bytes of an SQLite database in memory. Each connection has a copy:
// a transaction sees the state of its beginning, one that is undone leaves nothing, and an earlier
// state is at hand where a standby that lacks the last commits is promoted. The statements,
// the tables and their constraints are real.
//
// The place decides as PostgresPlace does (server/src/backends/postgres_place.cc): an advisory lock
// of a session that asks something each second and ends when it was silent for five, the next epoch
// when the store is claimed, and a look at the epoch within each commit.
//
// One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/store_place.h"
#include "faults/local_database.h"
#include "faults/scenario.h"
#include "faults/world.h"

namespace sotto::server {

// Ends a process in the middle of a call to the database. Nothing may catch it but the simulation.
struct Killed {};

// A process that uses the database.
struct Process : Actor {
  std::string name;
  int life = 0;            // starts of it, and of what it began anew in one of them
  int64_t epoch = 0;       // in which it serves the store; 0: it does not
  bool is_killed = false;  // its next call throws Killed
  bool is_frozen = false;  // none of its threads runs
  bool is_cut = false;     // it does not reach the database, nor the database it
};

class Postgres {
 public:
  using Image = LocalDatabase::Image;

  struct Session {
    Process* process = nullptr;  // null: the operator's, to which nothing happens
    bool is_alive = true;
    uint64_t heard_ms = 0;
  };
  using SharedSession = std::shared_ptr<Session>;

  // Told of each commit, while nothing else happens.
  //   tables  as they are now
  using OnCommit = std::function<void(const Process* by, Database& tables)>;

  Postgres(World& world, const Scenario& scenario, std::shared_ptr<const Image> first,
           OnCommit on_commit);

  World& world() { return world_; }
  const Scenario& scenario() const { return scenario_; }

  // Throws StoreLost if the database is away.
  SharedSession Connect(Process* process);
  void End(const SharedSession& session);

  // For a session that writes. Another one that writes is in the middle of a call here, and ends.
  void TakeWriter(const SharedSession& session);
  void LeaveWriter(const SharedSession& session);

  const std::shared_ptr<const Image>& head() const { return head_; }
  uint64_t version() const { return version_; }
  void Commit(const SharedSession& session, std::shared_ptr<const Image> image, Database& tables);

  // The advisory lock of who serves. False: another session has it.
  bool TryLock(const SharedSession& session);

  // All sessions end, and none begins for `away_ms`.
  void Restart(uint64_t away_ms);
  // The same; then the database has its state of `lost_commits` commits ago. Returns false, and
  // does nothing, if there were fewer.
  bool Promote(uint32_t lost_commits, uint64_t away_ms);
  bool is_up() const { return is_up_; }
  // What is committed now, no standby lacks.
  void Synchronize() { former_.clear(); }

 private:
  void LookAtLock();

  World& world_;
  const Scenario& scenario_;
  const OnCommit on_commit_;
  std::shared_ptr<const Image> head_;
  std::deque<std::shared_ptr<const Image>> former_;
  uint64_t version_ = 1;
  bool is_up_ = true;
  std::vector<std::weak_ptr<Session>> sessions_;
  SharedSession writer_;
  SharedSession lock_;
};

// A connection, at each of whose calls something may fail.
class SimulatedConnection final : public Database {
 public:
  SimulatedConnection(Postgres& postgres, Process* process);
  ~SimulatedConnection() override;

  void Run(const char* sql) override;
  bool is_in_transaction() const override { return is_in_transaction_; }
  void Begin(Kind kind) override;
  void Commit() override;
  void End() noexcept override;
  std::unique_ptr<Prepared> Prepare(const std::string& sql) override;

  // Of a call that begins, or of an answer that is on its way: what may happen, happens.
  void Call(const CallFaults& faults);
  // A new session, of the same object.
  void Reconnect();
  Postgres& postgres() { return postgres_; }

 private:
  [[noreturn]] void Lose(const char* why);
  void RequireAlive();
  void Wait(uint64_t ms, bool is_frozen);
  void WaitForCable();
  void Load();

  Postgres& postgres_;
  Process* const process_;
  Postgres::SharedSession session_;
  std::unique_ptr<LocalDatabase> held_;
  LocalDatabase& local_;
  uint64_t loaded_ = 0;
  bool is_in_transaction_ = false;
  bool writes_ = false;
};

class SimulatedPlace final : public StorePlace {
 public:
  // Throws StoreLost if the database is away.
  SimulatedPlace(Postgres& postgres, Process* process, Broken broken);
  ~SimulatedPlace() override;

  Database& database() override { return database_; }
  const ChainHead& head() const override { return head_; }
  void RequireHere() override { RequireServer(); }
  void RequireServer() override;
  void RequireStillHere() override {}
  void Claim() override;
  std::optional<std::string> Server() override { return std::nullopt; }

 private:
  // A second thread looks at it once a second: a call that waits does not hold it up.
  struct Watched {
    Postgres::SharedSession session;
    Process* process = nullptr;
    bool is_over = false;
    std::string lost;
  };
  static void LookLater(World& world, const std::shared_ptr<Watched>& watched);

  Process* const process_;
  const Broken broken_;
  SimulatedConnection database_;
  const ChainHead head_;
  int64_t epoch_ = 0;
  std::shared_ptr<Watched> watched_;  // from Claim() on
};

// The bytes of a store with this many devices, and nothing else; the same in each call.
std::shared_ptr<const Postgres::Image> NewStore();

constexpr uint32_t kFleet = 12;
std::vector<Device> FleetOfStore();

}  // namespace sotto::server
