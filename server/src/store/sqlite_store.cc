#include "store/sqlite_store.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "spec/configuration.h"
#include "store/schema.h"

namespace sotto::server {
namespace {

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

}  // namespace

SqliteStore::SqliteStore(const std::string& path, Mode mode) : database_(Prepare(path, mode)) {
  OpenSchema(database_, mode == Mode::kCreate);
  job_ = LastJob();
}

void SqliteStore::Refuse(const std::string& why) const {
  throw std::runtime_error(database_.path() + ": " + why);
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

int64_t SqliteStore::LastJob() {
  return database_.Integer("SELECT coalesce(max(number), 0) FROM jobs");
}

int64_t SqliteStore::Count(const char* table, int64_t job) {
  Statement row(database_, fmt::format("SELECT count(*) FROM {} WHERE job = ?", table).c_str());
  row.BindInteger(job).Step();
  return row.Integer(0);
}

std::optional<JobState> SqliteStore::Load() {
  if (job_ == 0) return std::nullopt;
  JobState state;
  Statement job(database_, "SELECT job_id, surcharge FROM jobs WHERE number = ?");
  job.BindInteger(job_).Step();
  std::copy_n(job.Blob(0).data(), kJobIdSize, state.job_id);
  state.surcharge = static_cast<uint32_t>(job.Integer(1));
  state.attempts = static_cast<uint32_t>(Count("attempts", job_));
  state.next_round = static_cast<uint32_t>(Count("releases", job_));
  Statement attempt(
      database_, "SELECT coalesce(max(attempt) + 1, 0) FROM attempts WHERE job = ? AND round = ?");
  attempt.BindInteger(job_).BindInteger(state.next_round).Step();
  state.next_attempt = static_cast<uint32_t>(attempt.Integer(0));
  if (state.next_round > 0) {
    state.parameters = Parameters(state.next_round - 1);
    state.clip_l2 = NextClip(state.next_round - 1);
  }
  return state;
}

double SqliteStore::NextClip(uint32_t round) {
  Statement row(database_, "SELECT next_clip_l2 FROM releases WHERE job = ? AND round = ?");
  row.BindInteger(job_).BindInteger(round).Step();
  return row.Real(0);
}

std::vector<float> SqliteStore::Parameters(uint32_t round) {
  Statement row(database_, "SELECT parameters FROM releases WHERE job = ? AND round = ?");
  if (!row.BindInteger(job_).BindInteger(round).Step()) {
    Refuse(fmt::format("round {} is not released", round));
  }
  return ToFloats(row.Blob(0));
}

std::vector<int64_t> SqliteStore::JobsBefore(int64_t job, bool with_eligible_devices) {
  std::vector<int64_t> jobs;
  Statement row(database_,
                "SELECT DISTINCT job FROM job_devices WHERE job < ?1 AND device IN "
                "(SELECT device FROM job_devices WHERE job = ?1 UNION "
                "SELECT position FROM devices WHERE revoked IS NULL AND ?2) ORDER BY job");
  row.BindInteger(job).BindInteger(with_eligible_devices);
  while (row.Step()) jobs.push_back(row.Integer(0));
  return jobs;
}

std::vector<privacy::SpentRounds> SqliteStore::SpentBefore() {
  std::vector<privacy::SpentRounds> spent;
  for (const int64_t job : JobsBefore(job_ == 0 ? LastJob() + 1 : job_, true)) {
    Statement row(database_, "SELECT configuration, surcharge FROM jobs WHERE number = ?");
    row.BindInteger(job).Step();
    spent.push_back({PlanFromConfiguration(database_.path(), row.Text(0)),
                     Count("releases", job) + row.Integer(1), Count("attempts", job)});
  }
  return spent;
}

std::vector<JobEntry> SqliteStore::Jobs() {
  std::vector<JobEntry> jobs;
  Statement row(database_, "SELECT number, model, begun, configuration FROM jobs ORDER BY number");
  while (row.Step()) {
    const int64_t number = row.Integer(0);
    jobs.push_back({number, row.Text(1), row.Integer(2),
                    PlanFromConfiguration(database_.path(), row.Text(3)).rounds,
                    Count("releases", number), Count("attempts", number),
                    Count("job_devices", number), JobsBefore(number, false)});
  }
  return jobs;
}

std::vector<LedgerEntry> SqliteStore::Ledger() { return ReadLedger(database_); }

void SqliteStore::AllowNewJob() { job_ = 0; }

void SqliteStore::BeginJob(const JobRecord& record) {
  const nlohmann::ordered_json configuration = ConfigurationToJson(record);
  Transaction transaction(database_);
  if (job_ == 0) {
    AddJob(record, configuration.dump());
  } else {
    RequireSameJob(record, configuration);
  }
  // Also a device that took another one's place since the job began.
  Statement insert(database_,
                   "INSERT OR IGNORE INTO job_devices (job, device) "
                   "SELECT ?, position FROM devices WHERE revoked IS NULL");
  insert.BindInteger(LastJob()).Run();
  transaction.Commit();
  job_ = LastJob();
}

void SqliteStore::AddJob(const JobRecord& record, const std::string& configuration) {
  Statement insert(database_,
                   "INSERT INTO jobs (number, job_id, model, model_digest, configuration, begun, "
                   "surcharge) VALUES (?, ?, ?, ?, ?, ?, 0)");
  insert.BindInteger(LastJob() + 1)
      .BindBlob(record.job_id)
      .BindText(record.config.model->name)
      .BindBlob(record.model_digest)
      .BindText(configuration)
      .BindInteger(Now())
      .Run();
}

void SqliteStore::RequireSameJob(const JobRecord& record,
                                 const nlohmann::ordered_json& configuration) {
  Statement held(database_, "SELECT configuration, job_id FROM jobs WHERE number = ?");
  held.BindInteger(job_).Step();
  RequireSameConfiguration(database_.path(), held.Text(0), configuration);
  const ByteSpan id = held.Blob(1);
  if (!std::equal(id.begin(), id.end(), record.job_id.begin(), record.job_id.end())) {
    Refuse("it holds a job that is under way; resume that one, or begin another one after it");
  }
}

void SqliteStore::CommitAttempt(const AttemptRecord& record) {
  const std::vector<uint8_t> cohort = ToBytes(record.cohort);
  Statement insert(
      database_,
      "INSERT INTO attempts (job, round, attempt, cohort, opened) VALUES (?, ?, ?, ?, ?)");
  insert.BindInteger(job_)
      .BindInteger(record.round)
      .BindInteger(record.attempt)
      .BindBlob(View(cohort))
      .BindInteger(Now())
      .Run();
}

void SqliteStore::CommitRelease(const ReleaseRecord& record) {
  Transaction transaction(database_);
  AddRelease(record);
  AddToLedger(database_, job_, record, record.seeded || RestsOnSeededNoise());
  transaction.Commit();
}

void SqliteStore::AddRelease(const ReleaseRecord& record) {
  const std::vector<uint8_t> parameters = ToBytes(record.parameters);
  Statement insert(database_,
                   "INSERT INTO releases (job, round, attempt, reported, parameters, released, "
                   "next_clip_l2) VALUES (?, ?, ?, ?, ?, ?, ?)");
  insert.BindInteger(job_)
      .BindInteger(record.round)
      .BindInteger(record.attempt)
      .BindInteger(record.reported)
      .BindBlob(View(parameters))
      .BindInteger(Now())
      .BindReal(record.next_clip_l2)
      .Run();
}

// A figure over all rounds so far is worth no more than the noise of each of them.
bool SqliteStore::RestsOnSeededNoise() {
  if (database_.Integer("SELECT count(*) FROM devices WHERE seeded AND revoked IS NULL") != 0) {
    return true;
  }
  std::vector<int64_t> jobs = JobsBefore(job_, false);
  jobs.push_back(job_);
  return std::any_of(jobs.begin(), jobs.end(), [&](int64_t job) {
    Statement row(database_, "SELECT count(*) FROM ledger WHERE seeded AND job = ?");
    row.BindInteger(job).Step();
    return row.Integer(0) != 0;
  });
}

}  // namespace sotto::server
