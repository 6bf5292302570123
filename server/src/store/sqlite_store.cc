#include "store/sqlite_store.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "store/configuration.h"

namespace sotto::server {
namespace {

constexpr int64_t kApplicationId = 0x536f7474;  // "Sott"
constexpr int64_t kVersion = 1;

// Times are seconds since 1970. A cohort is a list of u32le: indices into the devices that were
// eligible at `opened`, in the order of `position`. Parameters are float32, little-endian.
constexpr char kSchema[] = R"sql(
CREATE TABLE devices (
  position INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  secret BLOB NOT NULL UNIQUE CHECK (length(secret) = 32),
  created INTEGER NOT NULL,
  revoked INTEGER,
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
CREATE TABLE job (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  job_id BLOB NOT NULL CHECK (length(job_id) = 16),
  model TEXT NOT NULL,
  model_digest BLOB NOT NULL CHECK (length(model_digest) = 32),
  configuration TEXT NOT NULL,
  begun INTEGER NOT NULL
) STRICT;
CREATE TABLE attempts (
  round INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  cohort BLOB NOT NULL,
  opened INTEGER NOT NULL,
  PRIMARY KEY (round, attempt)
) STRICT;
CREATE TABLE releases (
  round INTEGER PRIMARY KEY,
  attempt INTEGER NOT NULL,
  reported INTEGER NOT NULL,
  parameters BLOB NOT NULL,
  released INTEGER NOT NULL,
  FOREIGN KEY (round, attempt) REFERENCES attempts (round, attempt)
) STRICT;
CREATE TABLE ledger (
  round INTEGER PRIMARY KEY REFERENCES releases (round),
  mechanism TEXT NOT NULL,
  sigma REAL NOT NULL,
  planned INTEGER NOT NULL,
  noise_multiplier REAL NOT NULL,
  accounted_noise_multiplier REAL NOT NULL,
  colluders INTEGER NOT NULL,
  adjacency TEXT NOT NULL,
  sampling TEXT NOT NULL,
  unit TEXT NOT NULL,
  trust_mode TEXT NOT NULL,
  accountant TEXT NOT NULL,
  delta REAL NOT NULL,
  epsilon REAL,          -- NULL: infinite
  epsilon_network REAL,  -- NULL: infinite
  seeded INTEGER NOT NULL CHECK (seeded IN (0, 1))
) STRICT;
)sql";

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

// The file, ready for SQLite, which would create it readable for all.
const std::string& Prepare(const std::string& path, SqliteStore::Mode mode) {
  if (mode == SqliteStore::Mode::kCreate) posix::CreatePrivateFile(path);
  posix::RequirePrivateFile(path);
  return path;
}

std::vector<uint8_t> ToBytes(const std::vector<uint32_t>& values) {
  std::vector<uint8_t> bytes(4 * values.size());
  for (size_t i = 0; i < values.size(); ++i) StoreU32Le(values[i], bytes.data() + 4 * i);
  return bytes;
}

std::vector<uint8_t> ToBytes(Span<const float> values) {
  std::vector<uint8_t> bytes(4 * values.size());
  for (size_t i = 0; i < values.size(); ++i) StoreU32Le(FloatBits(values[i]), &bytes[4 * i]);
  return bytes;
}

std::vector<float> ToFloats(ByteSpan bytes) {
  std::vector<float> values(bytes.size() / 4);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = FloatFromBits(LoadU32Le(bytes.data() + 4 * i));
  }
  return values;
}

void RequireValidName(const std::string& id) {
  if (!IsValidDeviceId({reinterpret_cast<const uint8_t*>(id.data()), id.size()})) {
    throw std::invalid_argument("device name '" + id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
}

ByteSpan View(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

double EpsilonOrInfinity(const Statement& row, int column) {
  return row.IsNull(column) ? std::numeric_limits<double>::infinity() : row.Real(column);
}

}  // namespace

SqliteStore::SqliteStore(const std::string& path, Mode mode) : database_(Prepare(path, mode)) {
  OpenSchema(mode);
}

void SqliteStore::Refuse(const std::string& why) const {
  throw std::runtime_error(database_.path() + ": " + why);
}

void SqliteStore::OpenSchema(Mode mode) {
  // Nothing is written to a file that is not known to be a store or empty.
  const int64_t application = database_.Integer("PRAGMA application_id");
  const int64_t version = database_.Integer("PRAGMA user_version");
  const bool is_empty = application == 0 && version == 0 &&
                        database_.Integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (is_empty) {
    // It may once have held a job: only who asked for a new store gets one.
    if (mode == Mode::kExisting) Refuse("empty, not a store; `sotto keys new` creates one");
  } else {
    if (application != kApplicationId) {
      Refuse("a database of another program, not a store; name another file");
    }
    if (version != kVersion) {
      Refuse(
          fmt::format("a store of version {}, and this program knows version {} only; use the {} "
                      "program that wrote it",
                      version, kVersion, version > kVersion ? "newer" : "older"));
    }
  }
  if (database_.Text("PRAGMA integrity_check(1)") != "ok") {
    Refuse("the file is damaged; begin a new job in a new store");
  }
  if (database_.Text("PRAGMA journal_mode = WAL") != "wal") database_.Fail("keep a log beside it");
  database_.Run("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
  if (!is_empty) return;
  Transaction transaction(database_);
  database_.Run(kSchema);
  database_.Run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion)
          .c_str());
  transaction.Commit();
}

void SqliteStore::AddDevices(const std::vector<Device>& devices, bool seeded,
                             const std::function<void()>& before_commit) {
  Transaction transaction(database_);
  for (const Device& device : devices) AddDevice(device, seeded);
  before_commit();
  transaction.Commit();
}

void SqliteStore::AddDevice(const Device& device, bool seeded) {
  RequireValidName(device.id);
  Statement other(database_, "SELECT id FROM devices WHERE id = ? OR secret = ?");
  if (other.BindText(device.id).BindBlob(device.secret.bytes).Step()) {
    const std::string held = other.Text(0);
    Refuse(held == device.id ? "device " + held + " is in the store already; choose another name"
                             : "devices " + held + " and " + device.id +
                                   " would have the same secret; " + "provision each with its own");
  }
  Statement insert(database_,
                   "INSERT INTO devices (id, secret, created, seeded) VALUES (?, ?, ?, ?)");
  insert.BindText(device.id)
      .BindBlob(device.secret.bytes)
      .BindInteger(Now())
      .BindInteger(seeded)
      .Run();
}

void SqliteStore::RevokeDevice(const std::string& id) {
  FindDevice(id);
  Statement update(database_, "UPDATE devices SET revoked = ? WHERE id = ?");
  update.BindInteger(Now()).BindText(id).Run();
}

Device SqliteStore::FindDevice(const std::string& id) {
  Statement row(database_, "SELECT secret, revoked FROM devices WHERE id = ?");
  if (!row.BindText(id).Step()) {
    Refuse("there is no device " + id + "; `sotto keys list` names those there are");
  }
  if (!row.IsNull(1)) Refuse("device " + id + " is revoked; provision a new one");
  Device device{id, {}};
  std::copy_n(row.Blob(0).data(), kKeySize, device.secret.bytes);
  return device;
}

std::vector<DeviceRecord> SqliteStore::ListDevices() {
  std::vector<DeviceRecord> devices;
  Statement row(database_, "SELECT id, created, revoked, seeded FROM devices ORDER BY position");
  while (row.Step()) {
    DeviceRecord device{row.Text(0), row.Integer(1), std::nullopt, row.Integer(3) != 0};
    if (!row.IsNull(2)) device.revoked = row.Integer(2);
    devices.push_back(std::move(device));
  }
  return devices;
}

DeviceRegistry SqliteStore::LoadDevices() {
  DeviceRegistry registry;
  Statement row(database_,
                "SELECT id, secret FROM devices WHERE revoked IS NULL ORDER BY position");
  while (row.Step()) {
    Device device{row.Text(0), {}};
    std::copy_n(row.Blob(1).data(), kKeySize, device.secret.bytes);
    registry.Register(std::move(device));
  }
  return registry;
}

std::optional<JobState> SqliteStore::Load() {
  Statement job(database_, "SELECT job_id FROM job");
  if (!job.Step()) return std::nullopt;
  JobState state;
  std::copy_n(job.Blob(0).data(), kJobIdSize, state.job_id);
  const int64_t next_round = database_.Integer("SELECT coalesce(max(round) + 1, 0) FROM releases");
  state.next_round = static_cast<uint32_t>(next_round);
  Statement attempt(database_,
                    "SELECT coalesce(max(attempt) + 1, 0) FROM attempts WHERE round = ?");
  attempt.BindInteger(next_round).Step();
  state.next_attempt = static_cast<uint32_t>(attempt.Integer(0));
  state.attempts = static_cast<uint32_t>(database_.Integer("SELECT count(*) FROM attempts"));
  if (next_round > 0) state.parameters = Parameters(state.next_round - 1);
  return state;
}

std::vector<float> SqliteStore::Parameters(uint32_t round) {
  Statement row(database_, "SELECT parameters FROM releases WHERE round = ?");
  if (!row.BindInteger(round).Step()) Refuse(fmt::format("round {} is not released", round));
  return ToFloats(row.Blob(0));
}

std::vector<LedgerEntry> SqliteStore::Ledger() {
  std::vector<LedgerEntry> entries;
  Statement row(database_,
                "SELECT round, mechanism, sigma, planned, noise_multiplier, "
                "accounted_noise_multiplier, colluders, adjacency, sampling, unit, trust_mode, "
                "accountant, delta, epsilon, epsilon_network, seeded FROM ledger ORDER BY round");
  while (row.Step()) {
    entries.push_back({static_cast<uint32_t>(row.Integer(0)), row.Text(1), row.Real(2),
                       row.Integer(3), row.Real(4), row.Real(5), row.Integer(6), row.Text(7),
                       row.Text(8), row.Text(9), row.Text(10), row.Text(11), row.Real(12),
                       EpsilonOrInfinity(row, 13), EpsilonOrInfinity(row, 14),
                       row.Integer(15) != 0});
  }
  return entries;
}

void SqliteStore::BeginJob(const JobRecord& record) {
  const nlohmann::ordered_json configuration = ConfigurationToJson(record);
  Statement held(database_, "SELECT configuration, job_id FROM job");
  if (held.Step()) {
    RequireSameConfiguration(database_.path(), held.Text(0), configuration);
    const ByteSpan id = held.Blob(1);
    if (!std::equal(id.begin(), id.end(), record.job_id.begin(), record.job_id.end())) {
      Refuse(
          "it holds a job that is under way; resume that one, or begin a new job in a new store");
    }
    return;
  }
  Statement insert(database_,
                   "INSERT INTO job (one, job_id, model, model_digest, configuration, begun) "
                   "VALUES (1, ?, ?, ?, ?, ?)");
  insert.BindBlob(record.job_id)
      .BindText(record.config.model->name)
      .BindBlob(record.model_digest)
      .BindText(configuration.dump())
      .BindInteger(Now())
      .Run();
}

void SqliteStore::CommitAttempt(const AttemptRecord& record) {
  const std::vector<uint8_t> cohort = ToBytes(record.cohort);
  Statement insert(database_,
                   "INSERT INTO attempts (round, attempt, cohort, opened) VALUES (?, ?, ?, ?)");
  insert.BindInteger(record.round)
      .BindInteger(record.attempt)
      .BindBlob(View(cohort))
      .BindInteger(Now())
      .Run();
}

void SqliteStore::CommitRelease(const ReleaseRecord& record) {
  Transaction transaction(database_);
  AddRelease(record);
  AddLedgerEntry(record);
  transaction.Commit();
}

void SqliteStore::AddRelease(const ReleaseRecord& record) {
  const std::vector<uint8_t> parameters = ToBytes(record.parameters);
  Statement insert(database_,
                   "INSERT INTO releases (round, attempt, reported, parameters, released) "
                   "VALUES (?, ?, ?, ?, ?)");
  insert.BindInteger(record.round)
      .BindInteger(record.attempt)
      .BindInteger(record.reported)
      .BindBlob(View(parameters))
      .BindInteger(Now())
      .Run();
}

void SqliteStore::AddLedgerEntry(const ReleaseRecord& record) {
  const bool has_seeded_device =
      database_.Integer("SELECT count(*) FROM devices WHERE seeded AND revoked IS NULL") != 0;
  const bool is_private = record.mechanism == Mechanism::kGauLrq;
  const double infinity = std::numeric_limits<double>::infinity();
  const privacy::Statement& spent = record.spent;
  Statement insert(database_,
                   "INSERT INTO ledger (round, mechanism, sigma, planned, noise_multiplier, "
                   "accounted_noise_multiplier, colluders, adjacency, sampling, unit, trust_mode, "
                   "accountant, delta, epsilon, epsilon_network, seeded) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.BindInteger(record.round)
      .BindText(Name(record.mechanism))
      .BindReal(record.noise_sigma)
      .BindInteger(record.planned_reports)
      .BindReal(spent.noise_multiplier)
      .BindReal(spent.accounted_noise_multiplier)
      .BindInteger(spent.colluders)
      .BindText(privacy::Name(spent.adjacency))
      .BindText(privacy::Name(spent.sampling))
      .BindText(privacy::Name(spent.unit))
      .BindText(privacy::Name(spent.trust_mode))
      .BindText(spent.accountant)
      .BindReal(spent.delta)
      .BindReal(is_private ? spent.epsilon : infinity)
      .BindReal(is_private ? spent.epsilon_network : infinity)
      .BindInteger(record.seeded || has_seeded_device)
      .Run();
}

}  // namespace sotto::server
