#include "backends/sql_store.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <stdexcept>
#include <utility>

#include "backends/sql_ledger.h"
#include "base/bytes.h"
#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/posix/run_key.h"
#include "store/history.h"
#include "store/recovery.h"

namespace sotto::server {
namespace {

std::vector<uint8_t> ToBytes(const std::vector<uint32_t>& values) {
  std::vector<uint8_t> bytes(4 * values.size());
  for (size_t i = 0; i < values.size(); ++i) StoreU32Le(values[i], bytes.data() + 4 * i);
  return bytes;
}

ByteSpan View(const std::vector<uint8_t>& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace

SqlStore::SqlStore(std::unique_ptr<StorePlace> place)
    : place_(std::move(place)), database_(place_->database()), head_(place_->head()) {}

void SqlStore::ReadAtOneMoment(const std::function<void()>& read) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  read();
}

// A transaction that appends records to the log that this store knows.
class SqlStore::Commit {
 public:
  explicit Commit(SqlStore& store, Moving moving = Moving::kRefused)
      : store_(store), transaction_(store.database_) {
    store_.place_->RequireHere();
    store_.RequireSameLog();
    if (moving == Moving::kRefused) store_.RequireNotMoving();
  }
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;

  void Finish() {
    store_.place_->RequireStillHere();
    const ChainHead head = store_.EndOfLog();
    transaction_.Commit();
    store_.head_ = head;
  }

 private:
  SqlStore& store_;
  Transaction transaction_;
};

void SqlStore::ClaimJobs() {
  RequireNotMoving();
  place_->Claim();
}

void SqlStore::AnswerMove(int64_t request, const JobAnswer& answer) {
  Commit commit(*this, Moving::kAllowed);
  jobs_.AddAnswer(request, answer);
  commit.Finish();
}

// One fleet never lives in two stores.
void SqlStore::RequireNotMoving() {
  Statement row(database_,
                "SELECT settings FROM job_requests WHERE act = 'move' AND number NOT IN "
                "(SELECT request FROM job_answers WHERE outcome <> 'begun')");
  if (!row.Step()) return;
  database_.Refuse(
      fmt::format("it has moved to {}: name that store. It can be read, and is written no more; if "
                  "the copy was "
                  "interrupted, `sotto store copy` with the same names ends it",
                  row.Text(0)));
}

void SqlStore::RequireSameLog() {
  Statement row(database_, "SELECT hash FROM chain WHERE sequence = ?");
  const bool is_there = row.Bind(head_.records).Step();
  const ByteSpan hash = is_there ? row.Blob(0) : ByteSpan();
  if (std::equal(hash.begin(), hash.end(), std::begin(head_.hash), std::end(head_.hash))) return;
  database_.Refuse(fmt::format(
      "its log does not have the record number {} that this program has read or written: another "
      "store, or an older copy, has replaced it. The program writes nothing more. Restore the "
      "store "
      "that was used last, and start again",
      head_.records));
}

ChainHead SqlStore::EndOfLog() {
  ChainHead head;
  Statement row(database_, "SELECT sequence, hash FROM chain ORDER BY sequence DESC LIMIT 1");
  if (!row.Step()) return head;
  head.records = row.Integer(0);
  std::copy_n(row.Blob(1).data(), kSha256Size, head.hash);
  return head;
}

void SqlStore::RequireServer() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  place_->RequireServer();
}

void SqlStore::RequireNew(const std::vector<Device>& devices) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  for (const Device& device : devices) devices_.RequireNew(device);
}

void SqlStore::Register(const std::vector<Registration>& devices, bool seeded) {
  Commit commit(*this);
  devices_.Add(devices, seeded);
  commit.Finish();
}

void SqlStore::RevokeDevice(const std::string& id) {
  Commit commit(*this);
  devices_.Revoke(id);
  commit.Finish();
}

void SqlStore::RotateDevice(const std::string& id, const Key& secret) {
  Commit commit(*this);
  devices_.Rotate(id, secret);
  commit.Finish();
}

void SqlStore::SetOwner(const std::string& id, const std::string& owner) {
  Commit commit(*this);
  devices_.SetOwner(id, owner);
  commit.Finish();
}

void SqlStore::SetKit(const std::string& id, const std::string& settings) {
  Commit commit(*this);
  devices_.SetKit(id, settings);
  commit.Finish();
}

std::string SqlStore::KitOf(const std::string& id) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return devices_.KitOf(id);
}

Device SqlStore::FindDevice(const std::string& id) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return devices_.Find(id);
}

DeviceRegistry SqlStore::LoadDevices() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  seen_ = LastRecord();
  return devices_.Load();
}

std::vector<FormerKey> SqlStore::LoadFormerKeys() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return devices_.LoadFormer();
}

int64_t SqlStore::LastRecord() {
  return database_.Integer("SELECT coalesce(max(sequence), 0) FROM chain");
}

std::vector<DeviceChange> SqlStore::TakeChanges() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  place_->RequireServer();
  const int64_t last = LastRecord();
  if (last == seen_) return {};
  std::vector<DeviceChange> changes = devices_.ChangesAfter(seen_);
  seen_ = last;
  return changes;
}

void SqlStore::SetPaused(bool paused) {
  Commit commit(*this);
  if (IsPaused() == paused) return;
  const int64_t number = database_.Integer("SELECT coalesce(max(number), 0) + 1 FROM pauses");
  Insert(database_, "pauses",
         {{"number", number}, {"paused", paused}, {"since", SecondsSince1970()}});
  Chain(database_).Append({"pause", {number}});
  commit.Finish();
}

bool SqlStore::IsPaused() {
  return database_.Integer(
             "SELECT coalesce((SELECT paused FROM pauses ORDER BY number DESC LIMIT 1), 0)") != 0;
}

int64_t SqlStore::Ask(const JobAsk& ask) {
  Commit commit(*this);
  const int64_t number = jobs_.AddRequest(ask);
  commit.Finish();
  return number;
}

bool SqlStore::AnswerRequest(int64_t number, const JobAnswer& answer) {
  Commit commit(*this);
  if (jobs_.IsAnswered(number)) return false;
  jobs_.AddAnswer(number, answer);
  commit.Finish();
  return true;
}

// Call it within a transaction: all records are then of one moment.
History SqlStore::ReadWithin() {
  return {database_.name(), devices_.List(), jobs_.Read(),
          ReadLife(),       ReadRecovery(),  jobs_.ReadRequests()};
}

// The last one.
std::optional<Recovery> SqlStore::ReadRecovery() {
  Statement row(database_,
                "SELECT r.number, last_device, job, r.since, l.number, epsilon, delta, l.since, "
                "first_job "
                "FROM recoveries AS r LEFT JOIN life_epsilons AS l ON life = l.number "
                "ORDER BY r.number DESC LIMIT 1");
  if (!row.Step()) return std::nullopt;
  Recovery recovery{row.Integer(0), row.Integer(1), row.Integer(2),
                    row.Integer(8), std::nullopt,   row.Integer(3)};
  if (!row.IsNull(4)) recovery.life = LifeEpsilon{row.Real(5), row.Real(6), row.Integer(7)};
  return recovery;
}

void SqlStore::Recover() {
  place_->Claim();  // also from a server that is suspended, and would go on
  Commit commit(*this);
  const History history = ReadWithin();
  const int64_t number = history.recovery ? history.recovery->number + 1 : 1;
  const int64_t job = history.jobs.empty() ? 0 : history.jobs.back().number;
  Insert(database_, "recoveries",
         {{"number", number},
          {"last_device", database_.Integer("SELECT coalesce(max(position), 0) FROM devices")},
          {"job", job},
          {"first_job", UnshownDevices(history).empty() ? job : history.recovery->first_job},
          {"life", database_.Integer("SELECT coalesce(max(number), 0) FROM life_epsilons")},
          {"since", SecondsSince1970()}});
  Chain(database_).Append({"recovery", {number}});
  commit.Finish();
}

std::optional<LifeEpsilon> SqlStore::ReadLife() {
  Statement row(database_,
                "SELECT epsilon, delta, since FROM life_epsilons ORDER BY number DESC LIMIT 1");
  if (!row.Step()) return std::nullopt;
  return LifeEpsilon{row.Real(0), row.Real(1), row.Integer(2)};
}

void SqlStore::RaiseLifeEpsilon(double epsilon, double delta) {
  Commit commit(*this);
  const std::optional<LifeEpsilon> former = ReadLife();
  if (former && epsilon <= former->epsilon) {
    throw std::invalid_argument(fmt::format(
        "{}: its life epsilon is {} already, and is never lowered: models were released under it; "
        "name a larger one",
        database_.name(), former->epsilon));
  }
  const int64_t number = database_.Integer("SELECT count(*) + 1 FROM life_epsilons");
  Insert(database_, "life_epsilons",
         {{"number", number},
          {"former_epsilon", former ? former->epsilon : 0.0},
          {"epsilon", epsilon},
          {"delta", former ? former->delta : delta},
          {"since", SecondsSince1970()}});
  Chain(database_).Append({"life", {number}});
  commit.Finish();
}

History SqlStore::ReadHistory() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadWithin();
}

std::vector<LedgerEntry> SqlStore::Ledger() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadLedger(database_);
}

std::vector<uint8_t> SqlStore::ReadDescription(int64_t job) {
  const Transaction moment(database_, Transaction::Kind::kRead);
  Chain(database_).RequireIntact({"job", {job}});
  Statement row(database_, "SELECT bundle FROM descriptions WHERE job = ?");
  if (!row.Bind(job).Step()) database_.Refuse(fmt::format("it has no job {}", job));
  const ByteSpan bundle = row.Blob(0);
  return {bundle.begin(), bundle.end()};
}

std::vector<int64_t> SqlStore::ListModels(int64_t job) {
  std::vector<int64_t> rounds;
  Statement row(database_, "SELECT round FROM models WHERE job = ? ORDER BY round");
  row.Bind(job);
  while (row.Step()) rounds.push_back(row.Integer(0));
  return rounds;
}

StoredModel SqlStore::ReadModel(int64_t job, int64_t round) {
  const RecordName name = {"model", {job, round}};
  const Transaction moment(database_, Transaction::Kind::kRead);
  Statement row(database_,
                "SELECT parameters, optimiser_state, next_clip_l2 FROM models "
                "WHERE job = ? AND round = ?");
  if (!row.Bind(job, round).Step()) {
    // Another one may have released later models since the history's moment.
    place_->RequireServer();
    database_.Refuse(DescribeRecord(name) + " is not in it: it was deleted, or never written");
  }
  Chain(database_).RequireIntact(name);
  const std::vector<float> parameters = FloatsOf(row.Blob(0));
  const ByteSpan state = row.Blob(1);
  return {parameters, {state.begin(), state.end()}, row.Real(2)};
}

void SqlStore::AttachThreshold(const ModelThreshold& t) {
  if (!IsPositiveNormal(t.threshold)) {
    throw std::invalid_argument(
        fmt::format("{}: a threshold of {} cannot be attached: it must be above 0",
                    database_.name(), t.threshold));
  }
  Commit commit(*this);
  Statement row(database_,
                "SELECT (SELECT count(*) FROM thresholds WHERE job = r.job AND round = r.round) "
                "FROM releases AS r WHERE job = ? AND round = ?");
  if (!row.Bind(t.job, t.round).Step()) {
    database_.Refuse(fmt::format("it has no release of round {} of job {}", t.round + 1, t.job));
  }
  AddThreshold(t, row.Integer(0) + 1);
  commit.Finish();
}

void SqlStore::AddThreshold(const ModelThreshold& t, int64_t number) {
  Insert(database_, "thresholds",
         {{"job", t.job},
          {"round", t.round},
          {"number", number},
          {"threshold", double{t.threshold}},
          {"attached", SecondsSince1970()}});
  Chain(database_).Append({"threshold", {t.job, t.round, number}});
}

std::vector<ModelThreshold> SqlStore::Thresholds() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  std::vector<ModelThreshold> thresholds;
  Statement row(database_,
                "SELECT job, round, number, threshold FROM thresholds AS t WHERE number = "
                "(SELECT max(number) FROM thresholds WHERE job = t.job AND round = t.round) "
                "ORDER BY job, round");
  while (row.Step()) {
    const RecordName name = {"threshold", {row.Integer(0), row.Integer(1), row.Integer(2)}};
    Chain(database_).RequireIntact(name);
    thresholds.push_back({name.keys[0], name.keys[1], static_cast<float>(row.Real(3))});
  }
  return thresholds;
}

void SqlStore::BeginJob(const JobRecord& record) {
  const bool may_begin = std::exchange(may_begin_, false);
  int64_t request = std::exchange(request_, 0);
  const std::optional<JobAsk> ask = std::exchange(ask_, std::nullopt);
  place_->Claim();
  Commit commit(*this);
  const History history = ReadWithin();
  const JobEntry* resumed = JobToResume(history, record, may_begin);
  if (resumed == nullptr) RequireSameFleet();
  if (request != 0 && jobs_.IsAnswered(request)) {
    throw std::invalid_argument(
        fmt::format("{}: request {} was withdrawn meanwhile", database_.name(), request));
  }
  const int64_t job = resumed == nullptr ? AddJob(record) : resumed->number;
  jobs_.AddDevices(job, devices_.EligibleNumbers());  // some may have joined since it began
  if (resumed != nullptr) jobs_.Extend(*resumed, record.config);
  if (resumed != nullptr) jobs_.AnswerAll(JobAct::kResume, job, "the job goes on");
  if (ask) request = jobs_.AddRequest(*ask);
  if (request != 0) jobs_.AddAnswer(request, {JobOutcome::kBegun, job, ""});
  commit.Finish();
  job_ = job;
  std::copy_n(record.job_id.begin(), kJobIdSize, job_id_);
  LoadReceipts();
}

// A job is planned for the devices that were loaded, if any were.
void SqlStore::RequireSameFleet() {
  if (seen_ == 0) return;
  Statement row(database_,
                "SELECT 1 FROM chain WHERE sequence > ? "
                "AND kind IN ('device', 'revocation', 'owner')");
  if (!row.Bind(seen_).Step()) return;
  throw FleetChanged(database_.name() +
                     ": devices came, left or got an owner while the job was being planned; start "
                     "the server again");
}

// With the model that it begins with.
int64_t SqlStore::AddJob(const JobRecord& record) {
  const int64_t number = jobs_.Add(record);
  AddModel(number, kFirstModel, record.parameters, {}, record.config.plan.clip_l2);
  return number;
}

Key SqlStore::ReceiptKey() {
  Chain(database_).RequireIntact({"store", {1}});
  Statement row(database_, "SELECT receipt_key FROM store");
  row.Step();
  Key key;
  std::copy_n(row.Blob(0).data(), kKeySize, key.bytes);
  return key;
}

// The receipts of all attempts in the log.
void SqlStore::LoadReceipts() {
  const History history = ReadHistory();
  auto receipts = std::make_shared<DeviceReceipts>(ReceiptKey(), history);
  std::map<int64_t, std::vector<uint8_t>> job_ids;
  Statement job(database_, "SELECT number, job_id FROM jobs");
  while (job.Step()) job_ids[job.Integer(0)].assign(job.Blob(1).begin(), job.Blob(1).end());
  Chain(database_).ForEachHash("attempt", [&](const RecordName& name, ByteSpan hash) {
    receipts->Add(View(job_ids.at(name.keys[0])), static_cast<uint32_t>(name.keys[1]),
                  static_cast<uint32_t>(name.keys[2]), hash);
  });
  std::atomic_store(&receipts_, std::move(receipts));
}

ByteSpan SqlStore::ReceiptOf(uint32_t round, uint32_t attempt, int64_t device) {
  return receipts_ == nullptr ? ByteSpan() : receipts_->Of(round, attempt, device);
}

bool SqlStore::HasShown(int64_t device) const {
  const auto receipts = LoadedReceipts();
  return receipts != nullptr && receipts->HasShown(device);
}

const SettledDevices* SqlStore::Settle() {
  if (receipts_ == nullptr || receipts_->settled() == nullptr) return nullptr;
  receipts_->Settle([this](const std::vector<SettledEntry>& entries) {
    Commit commit(*this);
    for (const SettledEntry& entry : entries) jobs_.AddSettled(entry);
    commit.Finish();
  });
  return receipts_->settled();
}

void SqlStore::CheckReceipt(ByteSpan receipt, int64_t device) {
  const auto receipts = LoadedReceipts();  // of no job, maybe, while the next one begins
  if (receipts == nullptr) return;
  try {
    receipts->Check(receipt, device);
  } catch (const StaleLog& error) {
    throw StaleLog(database_.name() + ": " + error.what());
  }
}

uint64_t SqlStore::ignored_receipts() const {
  return receipts_ == nullptr ? 0 : receipts_->ignored();
}

void SqlStore::CommitAttempt(const AttemptRecord& record) {
  std::vector<uint8_t> cohort = ToBytes(record.cohort);
  const Key salt = posix::RunKey(std::nullopt);  // nobody finds the cohort from the record's hash
  cohort.insert(cohort.end(), std::begin(salt.bytes), std::end(salt.bytes));
  Commit commit(*this);
  jobs_.KeepFleet(job_, record);
  Insert(database_, "attempts",
         {{"job", job_},
          {"round", record.round},
          {"attempt", record.attempt},
          {"cohort", SecretBytes{View(cohort)}},
          {"opened", SecondsSince1970()}});
  uint8_t hash[kSha256Size] = {};
  Chain(database_).Append({"attempt", {job_, record.round, record.attempt}}, &hash);
  commit.Finish();
  if (receipts_) receipts_->Add(job_id_, record.round, record.attempt, hash);
}

void SqlStore::SealAttempt(const SealRecord& record) {
  Commit commit(*this);
  jobs_.Seal(job_, record);
  commit.Finish();
  if (receipts_) receipts_->Charge(record);
}

void SqlStore::HaltJob(const HaltRecord& record) {
  Commit commit(*this);
  jobs_.AddHalt(job_, record);
  commit.Finish();
}

void SqlStore::CommitRelease(const ReleaseRecord& record) {
  Commit commit(*this);
  if (!record.devices.empty()) jobs_.Seal(job_, {record.round, record.attempt, record.devices});
  AddRelease(record);
  AddToLedger(database_, job_, record, record.seeded || IsSeeded());
  Chain(database_).Append({"release", {job_, record.round}});
  AddModel(job_, record.round, record.parameters, record.optimiser_state, record.next_clip_l2);
  if (record.threshold) AddThreshold({job_, record.round, *record.threshold}, 1);
  if (kept_models_) DeleteModels(int64_t{record.round} - *kept_models_);
  commit.Finish();
  if (receipts_ && !record.devices.empty()) {
    receipts_->Charge({record.round, record.attempt, record.devices});
  }
}

void SqlStore::CommitEvaluation(uint32_t round, const EvaluatedData& data,
                                const Evaluation& evaluation) {
  Commit commit(*this);
  AddEvaluation(database_, {job_, round, data, evaluation, SecondsSince1970()});
  Chain(database_).Append({"evaluation", {job_, round}});
  commit.Finish();
}

std::vector<StoredEvaluation> SqlStore::Evaluations() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadEvaluations(database_);
}

void SqlStore::CommitFigures(const RoundRecord& record) {
  Commit commit(*this);
  AddFigures(database_, job_, record);
  commit.Finish();
}

std::vector<RoundRecord> SqlStore::RoundRecords() {
  const Transaction moment(database_, Transaction::Kind::kRead);
  return ReadFigures(database_);
}

void SqlStore::DeleteModels(int64_t newest) {
  Statement row(database_, "DELETE FROM models WHERE job = ? AND round <= ?");
  row.Bind(job_, newest).Run();
}

bool SqlStore::IsSeeded() {
  const History history = ReadWithin();
  const auto job = std::find_if(history.jobs.begin(), history.jobs.end(),
                                [&](const JobEntry& entry) { return entry.number == job_; });
  return job != history.jobs.end() && RestsOnSeededNoise(history, *job);
}

void SqlStore::AddRelease(const ReleaseRecord& record) {
  Insert(database_, "releases",
         {{"job", job_},
          {"round", record.round},
          {"attempt", record.attempt},
          {"reported", record.reported},
          {"released", SecondsSince1970()}});
}

void SqlStore::AddModel(int64_t job, int64_t round, Span<const float> parameters,
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
