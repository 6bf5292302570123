#include "faults/database.h"

#include <algorithm>

#include "backends/sql_store.h"
#include "backends/sqlite_schema.h"

namespace sotto::server {
namespace {

constexpr uint64_t kMostSilentMs = 5000;      // PostgresPlace::kMostSilentMs
constexpr uint64_t kCableTimeoutMs = 10'000;  // tcp_user_timeout of PostgresDatabase
constexpr int kDeepest = 4;                   // calls that wait for one another
constexpr size_t kKeptStates = 64;

// The statement of a connection, which each run of it asks.
class SimulatedStatement final : public Prepared {
 public:
  SimulatedStatement(SimulatedConnection& connection, std::unique_ptr<Prepared> real)
      : connection_(connection), real_(std::move(real)) {}

  void BindNull() override { real_->BindNull(); }
  void BindInteger(int64_t value) override { real_->BindInteger(value); }
  void BindReal(double value) override { real_->BindReal(value); }
  void BindText(const std::string& value) override { real_->BindText(value); }
  void BindBlob(ByteSpan value) override { real_->BindBlob(value); }
  void BindSecret(ByteSpan value) override { real_->BindSecret(value); }
  bool Step() override {
    if (!std::exchange(runs_, true)) {
      connection_.Call(connection_.postgres().scenario().statement);
    }
    return real_->Step();
  }
  void Reset() override {
    real_->Reset();
    runs_ = false;
  }
  int columns() const override { return real_->columns(); }
  std::string name(int column) const override { return real_->name(column); }
  ValueType Type(int column) const override { return real_->Type(column); }
  int64_t Integer(int column) const override { return real_->Integer(column); }
  double Real(int column) const override { return real_->Real(column); }
  ByteSpan Blob(int column) const override { return real_->Blob(column); }

 private:
  SimulatedConnection& connection_;
  const std::unique_ptr<Prepared> real_;
  bool runs_ = false;
};

}  // namespace

namespace {

// Databases in memory that no connection uses now.
std::vector<std::unique_ptr<LocalDatabase>>& Spare() {
  static std::vector<std::unique_ptr<LocalDatabase>> spare;
  return spare;
}

std::unique_ptr<LocalDatabase> TakeLocal() {
  if (Spare().empty()) return std::make_unique<LocalDatabase>();
  std::unique_ptr<LocalDatabase> local = std::move(Spare().back());
  Spare().pop_back();
  return local;
}

}  // namespace

Postgres::Postgres(World& world, const Scenario& scenario, std::shared_ptr<const Image> first,
                   OnCommit on_commit)
    : world_(world),
      scenario_(scenario),
      on_commit_(std::move(on_commit)),
      head_(std::move(first)) {}

Postgres::SharedSession Postgres::Connect(Process* process) {
  const bool is_away = !is_up_ || (process != nullptr && process->is_cut);
  if (is_away) throw StoreLost("simulated: the database is away");
  auto session = std::make_shared<Session>();
  session->process = process;
  session->heard_ms = world_.now_ms();
  sessions_.push_back(session);
  return session;
}

void Postgres::End(const SharedSession& session) {
  session->is_alive = false;
  LeaveWriter(session);
  if (lock_ == session) lock_.reset();
}

void Postgres::TakeWriter(const SharedSession& session) {
  if (writer_ != nullptr && writer_ != session) {
    world_.Tell("database: ends a transaction that was idle");
    End(SharedSession(writer_));
  }
  writer_ = session;
}

void Postgres::LeaveWriter(const SharedSession& session) {
  if (writer_ == session) writer_.reset();
}

void Postgres::Commit(const SharedSession& session, std::shared_ptr<const Image> image,
                      Database& tables) {
  former_.push_back(std::exchange(head_, std::move(image)));
  if (former_.size() > kKeptStates) former_.pop_front();
  ++version_;
  LeaveWriter(session);
  on_commit_(session->process, tables);
}

bool Postgres::TryLock(const SharedSession& session) {
  if (lock_ != nullptr) return false;
  lock_ = session;
  LookAtLock();
  return true;
}

// idle_session_timeout.
void Postgres::LookAtLock() {
  const std::weak_ptr<Session> of = lock_;
  world_.After(500, nullptr, [this, of] {
    const SharedSession session = of.lock();
    if (session == nullptr || session != lock_) return;
    if (world_.now_ms() - session->heard_ms > kMostSilentMs) {
      world_.Tell("database: the session that holds the lock was silent");
      End(session);
    } else {
      LookAtLock();
    }
  });
}

void Postgres::Restart(uint64_t away_ms) {
  for (const std::weak_ptr<Session>& each : sessions_) {
    if (const SharedSession session = each.lock()) End(session);
  }
  sessions_.clear();
  is_up_ = false;
  world_.After(away_ms, nullptr, [this] {
    world_.Tell("database: is back");
    is_up_ = true;
  });
}

bool Postgres::Promote(uint32_t lost_commits, uint64_t away_ms) {
  if (former_.size() < lost_commits) return false;
  Restart(away_ms);
  for (uint32_t i = 0; i < lost_commits; ++i) {
    head_ = former_.back();
    former_.pop_back();
  }
  ++version_;
  return true;
}

SimulatedConnection::SimulatedConnection(Postgres& postgres, Process* process)
    : Database("simulated"),
      postgres_(postgres),
      process_(process),
      session_(postgres.Connect(process)),
      held_(TakeLocal()),
      local_(*held_) {}

SimulatedConnection::~SimulatedConnection() {
  postgres_.End(session_);
  End();
  Spare().push_back(std::move(held_));
}

void SimulatedConnection::Reconnect() { session_ = postgres_.Connect(process_); }

void SimulatedConnection::Lose(const char* why) {
  postgres_.End(session_);
  if (process_ != nullptr) postgres_.world().Tell("{}: {}", process_->name, why);
  throw StoreLost(std::string("simulated: ") + why);
}

void SimulatedConnection::RequireAlive() {
  if (process_ != nullptr && process_->is_killed) throw Killed();
  if (!session_->is_alive) Lose("its connection is gone");
  session_->heard_ms = postgres_.world().now_ms();
}

// The others go on meanwhile.
void SimulatedConnection::Wait(uint64_t ms, bool is_frozen) {
  World& world = postgres_.world();
  if (world.depth() > kDeepest) return;
  const bool was_frozen = std::exchange(process_->is_frozen, process_->is_frozen || is_frozen);
  world.RunUntil(world.now_ms() + ms);
  process_->is_frozen = was_frozen;
  RequireAlive();
}

void SimulatedConnection::WaitForCable() {
  World& world = postgres_.world();
  const uint64_t until_ms = world.now_ms() + kCableTimeoutMs;
  while (process_->is_cut && world.now_ms() < until_ms && world.depth() <= kDeepest) {
    Wait(1000, false);
  }
  if (process_->is_cut) Lose("does not reach the database");
}

void SimulatedConnection::Call(const CallFaults& faults) {
  RequireAlive();
  if (process_ == nullptr) return;
  World& world = postgres_.world();
  if (process_->is_cut) WaitForCable();
  if (world.is_calm()) return;
  if (world.Fails(faults.lost)) Lose("loses its connection");
  if (world.Fails(faults.killed)) {
    process_->is_killed = true;
    RequireAlive();
  }
  if (world.Fails(faults.slow)) Wait(world.Between(100, 8000), false);
  if (world.Fails(faults.frozen)) {
    world.Tell("{}: is stopped in a call", process_->name);
    Wait(world.Between(500, 20'000), true);
    world.Tell("{}: goes on", process_->name);
  }
}

// A state is loaded between transactions only, so each of them sees one.
void SimulatedConnection::Load() {
  if (is_in_transaction_ || loaded_ == postgres_.version()) return;
  local_.Load(*postgres_.head());
  loaded_ = postgres_.version();
}

void SimulatedConnection::Run(const char* sql) {
  Call(postgres_.scenario().statement);
  Load();
  local_.Run(sql);
}

void SimulatedConnection::Begin(Kind kind) {
  Call(postgres_.scenario().begin);
  if (kind == Kind::kWrite) postgres_.TakeWriter(session_);
  writes_ = kind == Kind::kWrite;
  Load();
  local_.Begin(kind);
  is_in_transaction_ = true;
}

void SimulatedConnection::Commit() {
  Call(postgres_.scenario().commit);
  local_.Commit();
  is_in_transaction_ = false;
  if (!writes_) return;
  auto image = std::make_shared<const Postgres::Image>(local_.Bytes());
  postgres_.Commit(session_, std::move(image), local_);
  loaded_ = postgres_.version();
  Call(postgres_.scenario().answer);
}

void SimulatedConnection::End() noexcept {
  if (is_in_transaction_) {
    local_.End();
    postgres_.LeaveWriter(session_);
  }
  is_in_transaction_ = false;
}

std::unique_ptr<Prepared> SimulatedConnection::Prepare(const std::string& sql) {
  RequireAlive();
  Load();
  return std::make_unique<SimulatedStatement>(*this, local_.Prepare(sql));
}

namespace {

// In one transaction: outside of one it looks at the machine's clock.
ChainHead VerifiedHead(Database& database) {
  const Transaction moment(database, Transaction::Kind::kRead);
  return Chain(database).Verify();
}

}  // namespace

SimulatedPlace::SimulatedPlace(Postgres& postgres, Process* process, Broken broken)
    : process_(process),
      broken_(broken),
      database_(postgres, process),
      head_(VerifiedHead(database_)) {}

SimulatedPlace::~SimulatedPlace() {
  if (watched_ == nullptr) return;
  watched_->is_over = true;
  database_.postgres().End(watched_->session);
}

void SimulatedPlace::RequireServer() {
  if (watched_ == nullptr || broken_ == Broken::kEpoch) return;
  if (!watched_->lost.empty()) throw StoreLost(watched_->lost);
  if (database_.Integer("SELECT epoch FROM place") == epoch_) return;
  database_.postgres().world().Tell("{}: another one has taken over", process_->name);
  throw StoreLost("simulated: another one has taken over while this server was away");
}

void SimulatedPlace::Claim() {
  if (watched_ != nullptr) return RequireServer();
  Postgres& postgres = database_.postgres();
  const Postgres::SharedSession session = postgres.Connect(process_);
  if (!postgres.TryLock(session)) throw ServedByAnother("simulated: another one serves it");
  watched_ = std::make_shared<Watched>(Watched{session, process_, false, ""});
  if (process_ != nullptr) LookLater(postgres.world(), watched_);  // null: the operator's
  Transaction transaction(database_);
  database_.Run("UPDATE place SET epoch = epoch + 1");
  const int64_t epoch = database_.Integer("SELECT epoch FROM place");
  transaction.Commit();
  epoch_ = epoch;
  if (process_ != nullptr) process_->epoch = epoch;
}

// PostgresPlace::Watch().
void SimulatedPlace::LookLater(World& world, const std::shared_ptr<Watched>& watched) {
  world.After(1000, nullptr, [&world, watched] {
    if (watched->is_over) return;
    Postgres::Session& session = *watched->session;
    if (!watched->process->is_frozen) {
      const bool is_cut = watched->process->is_cut;
      if (!is_cut && session.is_alive) session.heard_ms = world.now_ms();
      const bool has_timed_out = is_cut && world.now_ms() - session.heard_ms > kCableTimeoutMs;
      if (has_timed_out || (!is_cut && !session.is_alive)) {
        watched->lost = "simulated: the session that holds the lock is gone";
        return;
      }
    }
    LookLater(world, watched);
  });
}

std::vector<Device> FleetOfStore() {
  std::vector<Device> devices;
  for (uint32_t i = 0; i < kFleet; ++i) {
    devices.push_back({fmt::format("d{}", i + 1), {}});
    devices.back().secret.bytes[0] = static_cast<uint8_t>(i + 1);
  }
  return devices;
}

std::shared_ptr<const Postgres::Image> NewStore() {
  static const auto kStore = [] {
    LocalDatabase empty;
    empty.Run("PRAGMA page_size = 1024");
    MakeTables(empty.real());
    empty.Run("CREATE TABLE place (epoch INTEGER NOT NULL); INSERT INTO place VALUES (0)");
    // Room, so that images have one size.
    empty.Run(
        "CREATE TABLE room (bytes BLOB); INSERT INTO room VALUES (zeroblob(131072));"
        "DROP TABLE room");
    {
      Transaction transaction(empty);
      BeginLog(empty);
      transaction.Commit();
    }
    World world(0);
    const Scenario scenario;
    Postgres postgres(world, scenario, std::make_shared<const Postgres::Image>(empty.Bytes()),
                      [](const Process*, Database&) {});
    SqlStore(std::make_unique<SimulatedPlace>(postgres, nullptr, Broken::kNone))
        .AddDevices(FleetOfStore(), false);
    return postgres.head();
  }();
  return kStore;
}

}  // namespace sotto::server
