#include "store/sqlite_store.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "spec/configuration.h"
#include "store/history.h"
#include "store/sqlite_evaluations.h"
#include "store/sqlite_ledger.h"
#include "store/sqlite_schema.h"

namespace sotto::server {
namespace {

int64_t Now() { return static_cast<int64_t>(std::time(nullptr)); }

// Prepares the file for SQLite, which would create a file that all users can read. Returns the
// path.
const std::string& Prepare(const std::string& path, StoreMode mode) {
  if (mode == StoreMode::kCreate) posix::CreatePrivateFile(path);
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

constexpr char kIsEligible[] = "position NOT IN (SELECT device FROM revocations)";

void RequireValidName(const std::string& id) {
  if (!IsValidDeviceId({reinterpret_cast<const uint8_t*>(id.data()), id.size()})) {
    throw std::invalid_argument("device name '" + id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
}

ByteSpan View(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

SqliteStore::SqliteStore(const std::string& path, StoreMode mode)
    : database_(Prepare(path, mode),
                mode == StoreMode::kBeside ? Access::kBeside : Access::kWrite) {
  OpenSchema(database_, mode);
}

void SqliteStore::Refuse(const std::string& why) const {
  throw std::runtime_error(database_.path() + ": " + why);
}

void SqliteStore::AddDevices(const std::vector<Device>& devices, bool seeded,
                             const std::function<void()>& before_commit) {
  Transaction transaction(database_);
  Chain chain(database_);
  for (const Device& device : devices) AddDevice(chain, device, seeded);
  before_commit();
  transaction.Commit();
}

void SqliteStore::AddDevice(Chain& chain, const Device& device, bool seeded) {
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
  chain.Append({"device", {database_.Integer("SELECT last_insert_rowid()")}});
}

void SqliteStore::RevokeDevice(const std::string& id) {
  Transaction transaction(database_);
  FindDevice(id);
  Statement row(database_, "SELECT position FROM devices WHERE id = ?");
  row.BindText(id).Step();
  const int64_t position = row.Integer(0);
  Statement insert(database_, "INSERT INTO revocations (device, revoked) VALUES (?, ?)");
  insert.BindInteger(position).BindInteger(Now()).Run();
  Chain(database_).Append({"revocation", {position}});
  transaction.Commit();
}

Device SqliteStore::FindDevice(const std::string& id) {
  Statement row(database_,
                "SELECT secret, revoked, position FROM devices LEFT JOIN revocations "
                "ON device = position WHERE id = ?");
  if (!row.BindText(id).Step()) {
    Refuse("there is no device " + id + "; `sotto keys list` names those there are");
  }
  if (!row.IsNull(1)) Refuse("device " + id + " is revoked; provision a new one");
  Chain(database_).RequireIntact({"device", {row.Integer(2)}});
  Device device{id, {}};
  std::copy_n(row.Blob(0).data(), kKeySize, device.secret.bytes);
  return device;
}

std::vector<DeviceRecord> SqliteStore::ListDevices() {
  std::vector<DeviceRecord> devices;
  Statement row(database_,
                "SELECT position, id, created, revoked, seeded FROM devices "
                "LEFT JOIN revocations ON device = position ORDER BY position");
  while (row.Step()) {
    DeviceRecord device{row.Integer(0), row.Text(1), row.Integer(2), std::nullopt,
                        row.Integer(4) != 0};
    if (!row.IsNull(3)) device.revoked = row.Integer(3);
    devices.push_back(std::move(device));
  }
  return devices;
}

DeviceRegistry SqliteStore::LoadDevices() {
  DeviceRegistry registry;
  {
    Chain chain(database_);
    Statement row(database_, std::string("SELECT id, secret, position FROM devices WHERE ") +
                                 kIsEligible + " ORDER BY position");
    while (row.Step()) {
      chain.RequireIntact({"device", {row.Integer(2)}});
      Device device{row.Text(0), {}};
      std::copy_n(row.Blob(1).data(), kKeySize, device.secret.bytes);
      registry.Register(std::move(device));
    }
  }
  database_.ForgetPages();
  return registry;
}

std::vector<int64_t> SqliteStore::DevicesOf(int64_t job) {
  std::vector<int64_t> devices;
  Statement row(database_, "SELECT device FROM job_devices WHERE job = ? ORDER BY device");
  row.BindInteger(job);
  while (row.Step()) devices.push_back(row.Integer(0));
  return devices;
}

// Reads all jobs. The number of a job's releases is its next round.
std::vector<JobEntry> SqliteStore::ReadJobs() {
  std::vector<JobEntry> jobs;
  Statement row(
      database_,
      "WITH j AS (SELECT *, (SELECT count(*) FROM releases WHERE job = number) AS released "
      "FROM jobs) "
      "SELECT number, job_id, model, configuration, begun, surcharge, released, "
      "(SELECT count(*) FROM attempts WHERE job = number), "
      "(SELECT coalesce(max(attempt) + 1, 0) FROM attempts WHERE job = number AND round = "
      "released), "
      "(SELECT count(*) FROM facts WHERE job = number AND seeded) "
      "FROM j ORDER BY number");
  while (row.Step()) {
    JobEntry job;
    job.number = row.Integer(0);
    std::copy_n(row.Blob(1).data(), kJobIdSize, job.job_id);
    job.model = row.Text(2);
    job.configuration = row.Text(3);
    job.begun = row.Integer(4);
    job.surcharge = row.Integer(5);
    job.released = row.Integer(6);
    job.attempts = row.Integer(7);
    job.next_attempt = row.Integer(8);
    job.seeded = row.Integer(9) != 0;
    job.devices = DevicesOf(job.number);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// Call it within a transaction: all records are then of one moment.
History SqliteStore::ReadWithin() { return {database_.path(), ListDevices(), ReadJobs()}; }

History SqliteStore::ReadHistory() {
  const Transaction transaction(database_);
  return ReadWithin();
}

std::vector<LedgerEntry> SqliteStore::Ledger() {
  const Transaction transaction(database_);
  return ReadLedger(database_);
}

std::vector<int64_t> SqliteStore::ListModels(int64_t job) {
  std::vector<int64_t> rounds;
  Statement row(database_, "SELECT round FROM models WHERE job = ? ORDER BY round");
  row.BindInteger(job);
  while (row.Step()) rounds.push_back(row.Integer(0));
  return rounds;
}

StoredModel SqliteStore::ReadModel(int64_t job, int64_t round) {
  const RecordName name = {"model", {job, round}};
  Statement row(database_,
                "SELECT parameters, optimiser_state, next_clip_l2 FROM models "
                "WHERE job = ? AND round = ?");
  if (!row.BindInteger(job).BindInteger(round).Step()) {
    Refuse(DescribeRecord(name) + " is not in it: it was deleted, or never written");
  }
  Chain(database_).RequireIntact(name);
  const std::vector<float> parameters = ToFloats(row.Blob(0));
  const ByteSpan state = row.Blob(1);
  return {parameters, {state.begin(), state.end()}, row.Real(2)};
}

void SqliteStore::BeginJob(const JobRecord& record) {
  Transaction transaction(database_);
  const History history = ReadWithin();
  const JobEntry* resumed = JobToResume(history, record, may_begin_);
  const int64_t job = resumed == nullptr ? AddJob(record) : resumed->number;
  AddDevicesOfJob(job);
  transaction.Commit();
  job_ = job;
  std::copy_n(record.job_id.begin(), kJobIdSize, job_id_);
  may_begin_ = false;
  LoadReceipts();
}

int64_t SqliteStore::AddJob(const JobRecord& record) {
  const int64_t number = database_.Integer("SELECT coalesce(max(number), 0) + 1 FROM jobs");
  Statement insert(database_,
                   "INSERT INTO jobs (number, job_id, model, model_digest, configuration, begun, "
                   "surcharge) VALUES (?, ?, ?, ?, ?, ?, 0)");
  insert.BindInteger(number)
      .BindBlob(record.job_id)
      .BindText(record.config.model->name)
      .BindBlob(record.model_digest)
      .BindText(ConfigurationToJson(record).dump())
      .BindInteger(Now())
      .Run();
  Chain(database_).Append({"job", {number}});
  if (record.parameters.size() > 0) {
    AddModel(number, kFirstModel, record.parameters, {}, record.config.plan.clip_l2);
  }
  return number;
}

// Adds the eligible devices to the job. Some may have replaced other devices since the job began.
void SqliteStore::AddDevicesOfJob(int64_t job) {
  Statement last(database_, "SELECT coalesce(max(start), 0) FROM job_devices WHERE job = ?");
  last.BindInteger(job).Step();
  const int64_t start = last.Integer(0) + 1;
  Statement insert(database_, std::string("INSERT OR IGNORE INTO job_devices (job, device, start) "
                                          "SELECT ?, position, ? FROM devices WHERE ") +
                                  kIsEligible);
  insert.BindInteger(job).BindInteger(start).Run();
  if (database_.Integer("SELECT changes()") != 0) {
    Chain(database_).Append({"start", {job, start}});
  }
}

Key SqliteStore::ReceiptKey() {
  Chain(database_).RequireIntact({"store", {1}});
  Statement row(database_, "SELECT receipt_key FROM store");
  row.Step();
  Key key;
  std::copy_n(row.Blob(0).data(), kKeySize, key.bytes);
  return key;
}

// The receipts of all attempts in the log.
void SqliteStore::LoadReceipts() {
  auto receipts = std::make_unique<Receipts>(ReceiptKey());
  std::map<int64_t, std::vector<uint8_t>> job_ids;
  Statement job(database_, "SELECT number, job_id FROM jobs");
  while (job.Step()) job_ids[job.Integer(0)].assign(job.Blob(1).begin(), job.Blob(1).end());
  Chain(database_).ForEachHash("attempt", [&](const RecordName& name, ByteSpan hash) {
    receipts->Add(View(job_ids.at(name.keys[0])), static_cast<uint32_t>(name.keys[1]),
                  static_cast<uint32_t>(name.keys[2]), hash);
  });
  receipts_ = std::move(receipts);
}

ByteSpan SqliteStore::ReceiptOf(uint32_t round, uint32_t attempt) {
  return receipts_ == nullptr ? ByteSpan() : receipts_->Of(job_id_, round, attempt);
}

void SqliteStore::CheckReceipt(ByteSpan receipt) {
  if (receipts_ == nullptr) return;
  try {
    receipts_->Check(receipt);
  } catch (const StaleLog& error) {
    throw StaleLog(database_.path() + ": " + error.what());
  }
}

uint64_t SqliteStore::ignored_receipts() const {
  return receipts_ == nullptr ? 0 : receipts_->ignored();
}

void SqliteStore::CommitAttempt(const AttemptRecord& record) {
  const std::vector<uint8_t> cohort = ToBytes(record.cohort);
  Transaction transaction(database_);
  Statement insert(
      database_,
      "INSERT INTO attempts (job, round, attempt, cohort, opened) VALUES (?, ?, ?, ?, ?)");
  insert.BindInteger(job_)
      .BindInteger(record.round)
      .BindInteger(record.attempt)
      .BindBlob(View(cohort))
      .BindInteger(Now())
      .Run();
  uint8_t hash[kSha256Size] = {};
  Chain(database_).Append({"attempt", {job_, record.round, record.attempt}}, &hash);
  transaction.Commit();
  if (receipts_) receipts_->Add(job_id_, record.round, record.attempt, hash);
}

void SqliteStore::CommitRelease(const ReleaseRecord& record) {
  Transaction transaction(database_);
  AddRelease(record);
  AddToLedger(database_, job_, record, record.seeded || IsSeeded());
  Chain(database_).Append({"release", {job_, record.round}});
  AddModel(job_, record.round, record.parameters, record.optimiser_state, record.next_clip_l2);
  if (kept_models_) DeleteModels(int64_t{record.round} - *kept_models_);
  transaction.Commit();
}

void SqliteStore::CommitEvaluation(uint32_t round, const std::string& data,
                                   const Evaluation& evaluation) {
  Transaction transaction(database_);
  AddEvaluation(database_, {job_, round, data, evaluation, Now()});
  Chain(database_).Append({"evaluation", {job_, round}});
  transaction.Commit();
}

std::vector<StoredEvaluation> SqliteStore::Evaluations() {
  const Transaction transaction(database_);
  return ReadEvaluations(database_);
}

void SqliteStore::DeleteModels(int64_t newest) {
  Statement row(database_, "DELETE FROM models WHERE job = ? AND round <= ?");
  row.BindInteger(job_).BindInteger(newest).Run();
}

bool SqliteStore::IsSeeded() {
  const History history = ReadWithin();
  const auto job = std::find_if(history.jobs.begin(), history.jobs.end(),
                                [&](const JobEntry& entry) { return entry.number == job_; });
  return job != history.jobs.end() && RestsOnSeededNoise(history, *job);
}

void SqliteStore::AddRelease(const ReleaseRecord& record) {
  Statement insert(database_,
                   "INSERT INTO releases (job, round, attempt, reported, released) "
                   "VALUES (?, ?, ?, ?, ?)");
  insert.BindInteger(job_)
      .BindInteger(record.round)
      .BindInteger(record.attempt)
      .BindInteger(record.reported)
      .BindInteger(Now())
      .Run();
}

void SqliteStore::AddModel(int64_t job, int64_t round, Span<const float> parameters,
                           ByteSpan optimiser_state, double next_clip_l2) {
  const std::vector<uint8_t> bytes = ToBytes(parameters);
  Statement insert(database_,
                   "INSERT INTO models (job, round, parameters, optimiser_state, next_clip_l2) "
                   "VALUES (?, ?, ?, ?, ?)");
  insert.BindInteger(job)
      .BindInteger(round)
      .BindBlob(View(bytes))
      .BindBlob(optimiser_state)
      .BindReal(next_clip_l2)
      .Run();
  Chain(database_).Append({"model", {job, round}});
}

}  // namespace sotto::server
