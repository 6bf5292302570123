#include "store/sqlite_store.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <map>
#include <stdexcept>

#include "base/bytes.h"
#include "sotto/bytes.h"
#include "sotto/posix/files.h"
#include "spec/configuration.h"
#include "store/history.h"
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

constexpr char kIsEligible[] = "position NOT IN (SELECT device FROM revocations)";

void RequireValidName(const std::string& id) {
  if (!IsValidDeviceId(BytesOf(id))) {
    throw std::invalid_argument("device name '" + id +
                                "': use 1 to 64 characters of A-Z a-z 0-9 . _ -");
  }
}

ByteSpan View(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

SqliteStore::SqliteStore(const std::string& path, StoreMode mode) : database_(Prepare(path, mode)) {
  head_ = OpenSchema(database_, mode);
  if (mode == StoreMode::kRead) database_.ForbidWriting();
}

void SqliteStore::Refuse(const std::string& why) const {
  throw std::runtime_error(database_.path() + ": " + why);
}

void SqliteStore::ReadAtOneMoment(const std::function<void()>& read) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  read();
}

// A transaction that appends records to the log that this store knows.
class SqliteStore::Commit {
 public:
  explicit Commit(SqliteStore& store) : store_(store), transaction_(store.database_) {
    store_.RequireSameLog();
    store_.RequireServersName();
  }
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;

  void Finish() {
    store_.RequireSameFile();
    const ChainHead head = store_.EndOfLog();
    transaction_.Commit();
    store_.head_ = head;
  }

 private:
  SqliteStore& store_;
  Transaction transaction_;
};

void SqliteStore::RequireSameFile() {
  if (database_.file()->IsNamed()) return;
  Refuse(
      "its path does not name the file any more that was opened: another file was put in its "
      "place, or it was removed. Nothing more is written. Put the right store there, the one that "
      "was used last, and start again");
}

// SQLite names its journal after the file. By a second name it would not find what a killed program
// left half written under the first one, and the server would not find what is left under this one.
void SqliteStore::RequireServersName() {
  const posix::HeldFile& file = *database_.file();
  if (serving_ != nullptr || file.names() < 2 || !file.IsClaimedByAnother()) return;
  if (posix::LockFile::HolderOf(ServingFile(database_.path()))) return;
  Refuse(
      "a server uses this file by another name (a hard link), and only by that one may it be "
      "written meanwhile; name the store as the server does, or remove all names but the server's");
}

void SqliteStore::RequireSameLog() {
  RequireSameFile();
  Statement row(database_, "SELECT hash FROM chain WHERE sequence = ?");
  const bool is_there = row.Bind(head_.records).Step();
  const ByteSpan hash = is_there ? row.Blob(0) : ByteSpan();
  if (std::equal(hash.begin(), hash.end(), std::begin(head_.hash), std::end(head_.hash))) return;
  Refuse(fmt::format(
      "its log has not the record number {} that this program has read or written: another store, "
      "or an older copy, was written over it. Nothing more is written. Put the right store there, "
      "the one that was used last, and start again",
      head_.records));
}

ChainHead SqliteStore::EndOfLog() {
  ChainHead head;
  Statement row(database_, "SELECT sequence, hash FROM chain ORDER BY sequence DESC LIMIT 1");
  if (!row.Step()) return head;
  head.records = row.Integer(0);
  std::copy_n(row.Blob(1).data(), kSha256Size, head.hash);
  return head;
}

void SqliteStore::ClaimJobs() {
  if (serving_ != nullptr) return;
  if (const uint64_t names = database_.file()->names(); names > 1) {
    Refuse(fmt::format(
        "the file has {} names (hard links), and a change under one is a change under all; find "
        "them with `find FOLDER -samefile {}` and remove all but one (a backup is `sotto store "
        "backup`, or a copy), then start again",
        names, database_.path()));
  }
  try {
    serving_ = std::make_unique<posix::LockFile>(ServingFile(database_.path()));
  } catch (const posix::FileIsLocked& error) {
    Refuse(fmt::format("process {} serves it already; stop that one first, or name another store",
                       error.holder()));
  }
  if (database_.file()->Claim()) return;
  serving_.reset();
  Refuse(
      fmt::format("another process serves it already, although {} does not say which: that file "
                  "was removed, or the other one serves the store by another name; stop that one "
                  "first",
                  ServingFile(database_.path())));
}

std::optional<std::string> SqliteStore::Server() {
  std::optional<std::string> holder = posix::LockFile::HolderOf(ServingFile(database_.path()));
  if (!holder && database_.file()->IsClaimedByAnother()) holder = "unknown";
  return holder;
}

std::string SqliteStore::TakeWarning() {
  const bool had_links = has_links_;
  has_links_ = database_.file()->names() > 1;
  if (!has_links_ || had_links) return "";
  return fmt::format(
      "{}: the file has a second name (a hard link), and a change under that one is a change "
      "of this store. If it is a backup, make it by `sotto store backup`",
      database_.path());
}

void SqliteStore::RequireNew(const std::vector<Device>& devices) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  for (const Device& device : devices) RequireNew(device);
}

void SqliteStore::AddDevices(const std::vector<Device>& devices, bool seeded) {
  Commit commit(*this);
  Chain chain(database_);
  for (const Device& device : devices) AddDevice(chain, device, seeded);
  commit.Finish();
}

void SqliteStore::RequireNew(const Device& device) {
  RequireValidName(device.id);
  Statement named(database_, "SELECT 1 FROM devices WHERE id = ?");
  if (named.Bind(device.id).Step()) {
    Refuse("device " + device.id + " is in the store already; choose another name");
  }
  RequireNewSecret(device);
}

void SqliteStore::RequireNewSecret(const Device& device) {
  Statement other(database_,
                  "SELECT id FROM devices WHERE secret = ?1 UNION ALL SELECT id FROM devices JOIN "
                  "rotations ON device = position WHERE rotations.secret = ?1");
  if (!other.Bind(device.secret.bytes).Step()) return;
  Refuse("devices " + other.Text(0) + " and " + device.id +
         " would have the same secret; provision each with its own");
}

void SqliteStore::AddDevice(Chain& chain, const Device& device, bool seeded) {
  RequireNew(device);
  Insert(
      database_, "devices",
      {{"id", device.id}, {"secret", device.secret.bytes}, {"created", Now()}, {"seeded", seeded}});
  chain.Append({"device", {database_.Integer("SELECT last_insert_rowid()")}});
}

// The number of an eligible device. Refuses another one.
int64_t SqliteStore::NumberOf(const std::string& id) {
  Statement row(database_,
                "SELECT position, revoked FROM devices LEFT JOIN revocations ON device = position "
                "WHERE id = ?");
  if (!row.Bind(id).Step()) {
    Refuse("there is no device " + id + "; `sotto keys list` names those there are");
  }
  if (!row.IsNull(1)) Refuse("device " + id + " is revoked; provision a new one");
  return row.Integer(0);
}

// The secret in use: of the last rotation, or else the first one. No query here sorts secrets,
// which would leave copies of them.
Key SqliteStore::SecretOf(Chain& chain, int64_t device) {
  Key secret;
  chain.RequireIntact({"device", {device}});
  Statement rotation(database_,
                     "SELECT number, secret FROM rotations WHERE device = ? "
                     "ORDER BY number DESC LIMIT 1");
  if (rotation.Bind(device).Step()) {
    chain.RequireIntact({"rotation", {device, rotation.Integer(0)}});
    std::copy_n(rotation.Blob(1).data(), kKeySize, secret.bytes);
    return secret;
  }
  Statement first(database_, "SELECT secret FROM devices WHERE position = ?");
  first.Bind(device).Step();
  std::copy_n(first.Blob(0).data(), kKeySize, secret.bytes);
  return secret;
}

void SqliteStore::RevokeDevice(const std::string& id) {
  Commit commit(*this);
  const int64_t device = NumberOf(id);
  Insert(database_, "revocations", {{"device", device}, {"revoked", Now()}});
  Chain(database_).Append({"revocation", {device}});
  commit.Finish();
}

void SqliteStore::RotateDevice(const std::string& id, const Key& secret) {
  Commit commit(*this);
  const int64_t device = NumberOf(id);
  RequireNewSecret({id, secret});
  Statement last(database_, "SELECT coalesce(max(number), 0) FROM rotations WHERE device = ?");
  last.Bind(device).Step();
  const int64_t number = last.Integer(0) + 1;
  Insert(database_, "rotations",
         {{"device", device}, {"number", number}, {"secret", secret.bytes}, {"rotated", Now()}});
  Chain(database_).Append({"rotation", {device, number}});
  commit.Finish();
}

Device SqliteStore::FindDevice(const std::string& id) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  Chain chain(database_);
  return {id, SecretOf(chain, NumberOf(id))};
}

std::vector<DeviceRecord> SqliteStore::ListDevices() {
  std::vector<DeviceRecord> devices;
  Statement row(database_,
                "SELECT position, id, created, revoked, seeded, "
                "(SELECT max(rotated) FROM rotations WHERE device = position) FROM devices "
                "LEFT JOIN revocations ON device = position ORDER BY position");
  while (row.Step()) {
    DeviceRecord device;
    device.number = row.Integer(0);
    device.id = row.Text(1);
    device.created = row.Integer(2);
    if (!row.IsNull(3)) device.revoked = row.Integer(3);
    device.seeded = row.Integer(4) != 0;
    if (!row.IsNull(5)) device.rotated = row.Integer(5);
    devices.push_back(std::move(device));
  }
  return devices;
}

DeviceRegistry SqliteStore::LoadDevices() {
  DeviceRegistry registry;
  const Transaction moment(database_, Transaction::Kind::kRead);
  seen_ = LastRecord();
  Chain chain(database_);
  Statement row(database_,
                std::string("SELECT id, position, secret, EXISTS (SELECT 1 FROM rotations WHERE "
                            "device = position) FROM devices WHERE ") +
                    kIsEligible + " ORDER BY position");
  while (row.Step()) {
    const int64_t number = row.Integer(1);
    Device device{row.Text(0), {}};
    if (row.Integer(3) != 0) {
      device.secret = SecretOf(chain, number);
    } else {
      chain.RequireIntact({"device", {number}});
      std::copy_n(row.Blob(2).data(), kKeySize, device.secret.bytes);
    }
    registry.Register(std::move(device), number);
  }
  return registry;
}

int64_t SqliteStore::LastRecord() {
  return database_.Integer("SELECT coalesce(max(sequence), 0) FROM chain");
}

std::vector<DeviceChange> SqliteStore::TakeChanges() {
  using Kind = DeviceChange::Kind;
  std::vector<DeviceChange> changes;
  const Transaction moment(database_, Transaction::Kind::kRead);
  const int64_t last = LastRecord();
  if (last == seen_) return changes;
  Chain chain(database_);
  Statement row(database_,
                "SELECT kind, position, id FROM chain JOIN devices ON position = first_key "
                "WHERE sequence > ? AND kind IN ('device', 'revocation', 'rotation') "
                "ORDER BY sequence");
  row.Bind(seen_);
  while (row.Step()) {
    const std::string kind = row.Text(0);
    DeviceChange change;
    change.kind =
        kind == "device" ? Kind::kAdded : (kind == "rotation" ? Kind::kRotated : Kind::kRevoked);
    change.number = row.Integer(1);
    change.device.id = row.Text(2);
    if (change.kind != Kind::kRevoked) change.device.secret = SecretOf(chain, change.number);
    changes.push_back(std::move(change));
  }
  seen_ = last;
  return changes;
}

void SqliteStore::SetPaused(bool paused) {
  Commit commit(*this);
  if (IsPaused() == paused) return;
  const int64_t number = database_.Integer("SELECT coalesce(max(number), 0) + 1 FROM pauses");
  Insert(database_, "pauses", {{"number", number}, {"paused", paused}, {"since", Now()}});
  Chain(database_).Append({"pause", {number}});
  commit.Finish();
}

bool SqliteStore::IsPaused() {
  return database_.Integer(
             "SELECT coalesce((SELECT paused FROM pauses ORDER BY number DESC LIMIT 1), 0)") != 0;
}

// The devices that the starts of the job up to this one have added.
std::vector<int64_t> SqliteStore::DevicesOf(int64_t job, int64_t most_start) {
  std::vector<int64_t> devices;
  Statement row(database_,
                "SELECT device FROM job_devices WHERE job = ? AND start <= ? ORDER BY device");
  row.Bind(job, most_start);
  while (row.Step()) devices.push_back(row.Integer(0));
  return devices;
}

std::vector<FleetEntry> SqliteStore::FleetsOf(int64_t job) {
  std::vector<FleetEntry> fleets;
  Statement row(database_,
                "SELECT round, attempt, devices, (SELECT count(*) FROM attempts AS a WHERE "
                "a.job = f.job AND (a.round, a.attempt) < (f.round, f.attempt)) "
                "FROM fleets AS f WHERE job = ? ORDER BY number");
  row.Bind(job);
  while (row.Step()) {
    fleets.push_back({row.Integer(0), row.Integer(1), row.Integer(2), row.Integer(3)});
  }
  return fleets;
}

std::vector<JobExtension> SqliteStore::ExtensionsOf(int64_t job) {
  std::vector<JobExtension> extensions;
  Statement row(database_,
                "SELECT rounds, epsilon_budget FROM extensions WHERE job = ? ORDER BY number");
  row.Bind(job);
  while (row.Step()) extensions.push_back({row.Integer(0), row.RealOrInfinity(1)});
  return extensions;
}

// Reads all jobs. The number of a job's releases is its next round.
std::vector<JobEntry> SqliteStore::ReadJobs() {
  std::vector<JobEntry> jobs;
  Statement row(
      database_,
      "WITH j AS (SELECT *, (SELECT count(*) FROM releases WHERE job = number) AS released "
      "FROM jobs) "
      "SELECT number, job_id, model, configuration, begun, released, "
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
    job.released = row.Integer(5);
    job.attempts = row.Integer(6);
    job.next_attempt = row.Integer(7);
    job.seeded = row.Integer(8) != 0;
    job.devices = DevicesOf(job.number, INT64_MAX);
    job.first_devices = DevicesOf(job.number, 1);
    job.fleets = FleetsOf(job.number);
    job.extensions = ExtensionsOf(job.number);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// Call it within a transaction: all records are then of one moment.
History SqliteStore::ReadWithin() { return {database_.path(), ListDevices(), ReadJobs()}; }

History SqliteStore::ReadHistory() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadWithin();
}

std::vector<LedgerEntry> SqliteStore::Ledger() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadLedger(database_);
}

std::vector<int64_t> SqliteStore::ListModels(int64_t job) {
  std::vector<int64_t> rounds;
  Statement row(database_, "SELECT round FROM models WHERE job = ? ORDER BY round");
  row.Bind(job);
  while (row.Step()) rounds.push_back(row.Integer(0));
  return rounds;
}

StoredModel SqliteStore::ReadModel(int64_t job, int64_t round) {
  const RecordName name = {"model", {job, round}};
  const Transaction moment(database_, Transaction::Kind::kRead);
  Statement row(database_,
                "SELECT parameters, optimiser_state, next_clip_l2 FROM models "
                "WHERE job = ? AND round = ?");
  if (!row.Bind(job, round).Step()) {
    Refuse(DescribeRecord(name) + " is not in it: it was deleted, or never written");
  }
  Chain(database_).RequireIntact(name);
  const std::vector<float> parameters = FloatsOf(row.Blob(0));
  const ByteSpan state = row.Blob(1);
  return {parameters, {state.begin(), state.end()}, row.Real(2)};
}

void SqliteStore::BeginJob(const JobRecord& record) {
  ClaimJobs();
  Commit commit(*this);
  const History history = ReadWithin();
  const JobEntry* resumed = JobToResume(history, record, may_begin_);
  if (resumed == nullptr) RequireSameFleet();
  const int64_t job = resumed == nullptr ? AddJob(record) : resumed->number;
  AddDevicesOfJob(job);
  if (resumed != nullptr) Extend(*resumed, record.config);
  commit.Finish();
  job_ = job;
  std::copy_n(record.job_id.begin(), kJobIdSize, job_id_);
  may_begin_ = false;
  LoadReceipts();
}

// A job is planned for the devices that were loaded, if any were.
void SqliteStore::RequireSameFleet() {
  if (seen_ == 0) return;
  Statement row(database_,
                "SELECT 1 FROM chain WHERE sequence > ? AND kind IN ('device', 'revocation')");
  if (!row.Bind(seen_).Step()) return;
  Refuse("devices came or left while the job was being planned; start the server again");
}

int64_t SqliteStore::AddJob(const JobRecord& record) {
  const int64_t number = database_.Integer("SELECT coalesce(max(number), 0) + 1 FROM jobs");
  Insert(database_, "jobs",
         {{"number", number},
          {"job_id", record.job_id},
          {"model", record.config.model->name},
          {"model_digest", record.model_digest},
          {"configuration", ConfigurationText(record)},
          {"begun", Now()},
          {"surcharge", 0}});
  Chain(database_).Append({"job", {number}});
  AddModel(number, kFirstModel, record.parameters, {}, record.config.plan.clip_l2);
  return number;
}

// Adds the eligible devices to the job. Some may have joined since it began.
void SqliteStore::AddDevicesOfJob(int64_t job) {
  std::vector<int64_t> eligible;
  Statement row(database_, std::string("SELECT position FROM devices WHERE ") + kIsEligible);
  while (row.Step()) eligible.push_back(row.Integer(0));
  AddDevicesOfJob(job, eligible);
}

void SqliteStore::AddDevicesOfJob(int64_t job, const std::vector<int64_t>& devices) {
  Statement last(database_, "SELECT coalesce(max(start), 0) FROM job_devices WHERE job = ?");
  last.Bind(job).Step();
  const int64_t start = last.Integer(0) + 1;
  const int64_t former = database_.Integer("SELECT total_changes()");
  Statement insert(database_,
                   "INSERT OR IGNORE INTO job_devices (job, device, start) VALUES (?, ?, ?)");
  for (const int64_t device : devices) insert.Bind(job, device, start).Run();
  if (database_.Integer("SELECT total_changes()") != former) {
    Chain(database_).Append({"start", {job, start}});
  }
}

// Records that the job goes on with more rounds or a larger budget than before.
void SqliteStore::Extend(const JobEntry& job, const JobConfig& config) {
  const JobExtension now = {config.plan.rounds, config.epsilon_budget};
  const JobExtension was = PlanNow(database_.path(), job);
  if (now.rounds == was.rounds && now.epsilon_budget == was.epsilon_budget) return;
  const auto number = static_cast<int64_t>(job.extensions.size()) + 1;
  Insert(database_, "extensions",
         {{"job", job.number},
          {"number", number},
          {"rounds", now.rounds},
          {"epsilon_budget", now.epsilon_budget},
          {"extended", Now()}});
  Chain(database_).Append({"extension", {job.number, number}});
}

// Records who takes part from this attempt on, if that has changed.
void SqliteStore::KeepFleet(const AttemptRecord& record) {
  if (record.devices == 0) return;
  AddDevicesOfJob(job_, record.joined);
  Statement last(database_,
                 "SELECT coalesce((SELECT devices FROM fleets WHERE job = number_of ORDER BY "
                 "number DESC LIMIT 1), json_extract(configuration, '$.devices')), "
                 "(SELECT count(*) + 1 FROM fleets WHERE job = number_of) "
                 "FROM (SELECT number AS number_of, configuration FROM jobs WHERE number = ?)");
  last.Bind(job_).Step();
  if (last.Integer(0) == int64_t{record.devices}) return;
  const int64_t number = last.Integer(1);
  Insert(database_, "fleets",
         {{"job", job_},
          {"number", number},
          {"round", record.round},
          {"attempt", record.attempt},
          {"devices", record.devices}});
  Chain(database_).Append({"fleet", {job_, number}});
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
  Commit commit(*this);
  KeepFleet(record);
  Insert(database_, "attempts",
         {{"job", job_},
          {"round", record.round},
          {"attempt", record.attempt},
          {"cohort", View(cohort)},
          {"opened", Now()}});
  uint8_t hash[kSha256Size] = {};
  Chain(database_).Append({"attempt", {job_, record.round, record.attempt}}, &hash);
  commit.Finish();
  if (receipts_) receipts_->Add(job_id_, record.round, record.attempt, hash);
}

void SqliteStore::CommitRelease(const ReleaseRecord& record) {
  Commit commit(*this);
  AddRelease(record);
  AddToLedger(database_, job_, record, record.seeded || IsSeeded());
  Chain(database_).Append({"release", {job_, record.round}});
  AddModel(job_, record.round, record.parameters, record.optimiser_state, record.next_clip_l2);
  if (kept_models_) DeleteModels(int64_t{record.round} - *kept_models_);
  commit.Finish();
}

void SqliteStore::CommitEvaluation(uint32_t round, const EvaluatedData& data,
                                   const Evaluation& evaluation) {
  Commit commit(*this);
  AddEvaluation(database_, {job_, round, data, evaluation, Now()});
  Chain(database_).Append({"evaluation", {job_, round}});
  commit.Finish();
}

std::vector<StoredEvaluation> SqliteStore::Evaluations() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadEvaluations(database_);
}

void SqliteStore::DeleteModels(int64_t newest) {
  Statement row(database_, "DELETE FROM models WHERE job = ? AND round <= ?");
  row.Bind(job_, newest).Run();
}

bool SqliteStore::IsSeeded() {
  const History history = ReadWithin();
  const auto job = std::find_if(history.jobs.begin(), history.jobs.end(),
                                [&](const JobEntry& entry) { return entry.number == job_; });
  return job != history.jobs.end() && RestsOnSeededNoise(history, *job);
}

void SqliteStore::AddRelease(const ReleaseRecord& record) {
  Insert(database_, "releases",
         {{"job", job_},
          {"round", record.round},
          {"attempt", record.attempt},
          {"reported", record.reported},
          {"released", Now()}});
}

void SqliteStore::AddModel(int64_t job, int64_t round, Span<const float> parameters,
                           ByteSpan optimiser_state, double next_clip_l2) {
  const std::vector<uint8_t> bytes = BytesOf(parameters);
  Insert(database_, "models",
         {{"job", job},
          {"round", round},
          {"parameters", View(bytes)},
          {"optimiser_state", optimiser_state},
          {"next_clip_l2", next_clip_l2}});
  Chain(database_).Append({"model", {job, round}});
}

}  // namespace sotto::server
