#include "backends/sql_jobs.h"

#include <algorithm>

#include "backends/sql_chain.h"
#include "sotto/model/model_bundle.h"
#include "spec/configuration.h"
#include "store/history.h"

namespace sotto::server {

// The devices that the starts of the job up to this one have added.
std::vector<int64_t> SqlJobs::DevicesOf(int64_t job, int64_t most_start) {
  std::vector<int64_t> devices;
  Statement row(database_,
                "SELECT device FROM job_devices WHERE job = ? AND start <= ? ORDER BY device");
  row.Bind(job, most_start);
  while (row.Step()) devices.push_back(row.Integer(0));
  return devices;
}

std::vector<FleetEntry> SqlJobs::FleetsOf(int64_t job) {
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

std::vector<JobExtension> SqlJobs::ExtensionsOf(int64_t job) {
  std::vector<JobExtension> extensions;
  Statement row(database_,
                "SELECT rounds, epsilon_budget FROM extensions WHERE job = ? ORDER BY number");
  row.Bind(job);
  while (row.Step()) extensions.push_back({row.Integer(0), row.RealOrInfinity(1)});
  return extensions;
}

std::vector<SealRecord> SqlJobs::SealsOf(int64_t job) {
  std::vector<SealRecord> seals;
  Statement row(database_,
                "SELECT round, attempt, device FROM turns WHERE job = ? "
                "ORDER BY round, attempt, device");
  row.Bind(job);
  while (row.Step()) {
    const auto round = static_cast<uint32_t>(row.Integer(0));
    const auto attempt = static_cast<uint32_t>(row.Integer(1));
    const bool is_next =
        seals.empty() || seals.back().round != round || seals.back().attempt != attempt;
    if (is_next) seals.push_back({round, attempt, {}});
    seals.back().devices.push_back(row.Integer(2));
  }
  return seals;
}

std::vector<SettledEntry> SqlJobs::SettledIn(int64_t job) {
  std::vector<SettledEntry> settled;
  Statement row(database_,
                "SELECT recovery, device, receipt, turns, mu_squared, coordinates, too_long "
                "FROM settled WHERE job = ? ORDER BY recovery, device");
  row.Bind(job);
  while (row.Step()) {
    const ByteSpan receipt = row.Blob(2);
    settled.push_back({row.Integer(0),
                       row.Integer(1),
                       {receipt.begin(), receipt.end()},
                       {row.Integer(3), row.RealOrInfinity(4), row.Real(5), row.Real(6)},
                       job});
  }
  return settled;
}

// The last one.
std::optional<HaltEntry> SqlJobs::HaltOf(int64_t job) {
  Statement row(database_,
                "SELECT number, attempts, rounds, kind, reason, since FROM halts WHERE job = ? "
                "ORDER BY number DESC LIMIT 1");
  if (!row.Bind(job).Step()) return std::nullopt;
  HaltEntry halt;
  halt.number = row.Integer(0);
  halt.attempts = row.Integer(1);
  halt.rounds = row.Integer(2);
  halt.kind = privacy::ValueIn(kHalts, "kind of halt", row.Text(3));
  halt.reason = row.Text(4);
  halt.since = row.Integer(5);
  return halt;
}

// The number of a job's releases is its next round.
std::vector<JobEntry> SqlJobs::Read() {
  std::vector<JobEntry> jobs;
  Statement row(
      database_,
      "WITH j AS (SELECT *, (SELECT count(*) FROM releases WHERE job = number) AS released "
      "FROM jobs) "
      "SELECT number, job_id, model, configuration, begun, released, "
      "(SELECT count(*) FROM attempts WHERE job = number), "
      "(SELECT coalesce(max(attempt) + 1, 0) FROM attempts WHERE job = number AND round = "
      "released), "
      "(SELECT count(*) FROM facts WHERE job = number AND seeded = 1) "
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
    job.seals = SealsOf(job.number);
    job.settled = SettledIn(job.number);
    job.halt = HaltOf(job.number);
    jobs.push_back(std::move(job));
  }
  return jobs;
}

int64_t SqlJobs::Add(const JobRecord& record) {
  const int64_t number = database_.Integer("SELECT coalesce(max(number), 0) + 1 FROM jobs");
  Insert(database_, "jobs",
         {{"number", number},
          {"job_id", record.job_id},
          {"model", record.config.model->name},
          {"model_digest", record.model_digest},
          {"configuration", ConfigurationText(record)},
          {"begun", SecondsSince1970()},
          {"surcharge", 0}});
  const std::vector<uint8_t> bundle = posix::BundleOf(*record.config.model);
  Insert(database_, "descriptions",
         {{"job", number}, {"bundle", ByteSpan(bundle.data(), bundle.size())}});
  Chain(database_).Append({"job", {number}});
  return number;
}

void SqlJobs::AddDevices(int64_t job, const std::vector<int64_t>& devices) {
  Statement last(database_, "SELECT coalesce(max(start), 0) FROM job_devices WHERE job = ?");
  last.Bind(job).Step();
  const int64_t start = last.Integer(0) + 1;
  Statement insert(database_,
                   "INSERT INTO job_devices (job, device, start) VALUES (?, ?, ?) "
                   "ON CONFLICT DO NOTHING");
  for (const int64_t device : devices) insert.Bind(job, device, start).Run();
  last.Reset();
  last.Bind(job).Step();
  if (last.Integer(0) == start) Chain(database_).Append({"start", {job, start}});
}

void SqlJobs::Extend(const JobEntry& job, const JobConfig& config) {
  const JobExtension now = {config.plan.rounds, config.epsilon_budget};
  const JobExtension was = PlanNow(database_.name(), job);
  if (now.rounds == was.rounds && now.epsilon_budget == was.epsilon_budget) return;
  const auto number = static_cast<int64_t>(job.extensions.size()) + 1;
  Insert(database_, "extensions",
         {{"job", job.number},
          {"number", number},
          {"rounds", now.rounds},
          {"epsilon_budget", now.epsilon_budget},
          {"extended", SecondsSince1970()}});
  Chain(database_).Append({"extension", {job.number, number}});
}

void SqlJobs::KeepFleet(int64_t job, const AttemptRecord& record) {
  if (record.devices == 0) return;
  AddDevices(job, record.joined);
  Statement last(
      database_,
      "SELECT coalesce((SELECT devices FROM fleets WHERE job = number_of ORDER BY "
      "number DESC LIMIT 1), json_extract(configuration, '$.devices')), "
      "(SELECT count(*) + 1 FROM fleets WHERE job = number_of) "
      "FROM (SELECT number AS number_of, configuration FROM jobs WHERE number = ?) AS j");
  last.Bind(job).Step();
  if (last.Integer(0) == int64_t{record.devices}) return;
  const int64_t number = last.Integer(1);
  Insert(database_, "fleets",
         {{"job", job},
          {"number", number},
          {"round", record.round},
          {"attempt", record.attempt},
          {"devices", record.devices}});
  Chain(database_).Append({"fleet", {job, number}});
}

void SqlJobs::Seal(int64_t job, const SealRecord& record) {
  for (const int64_t device : record.devices) {
    Insert(
        database_, "turns",
        {{"job", job}, {"round", record.round}, {"attempt", record.attempt}, {"device", device}});
  }
  Chain(database_).Append({"seal", {job, record.round, record.attempt}});
}

void SqlJobs::AddSettled(const SettledEntry& entry) {
  Insert(database_, "settled",
         {{"recovery", entry.recovery},
          {"device", entry.device},
          {"job", entry.job},
          {"receipt", SecretBytes{ByteSpan(entry.receipt.data(), entry.receipt.size())}},
          {"turns", entry.charged.count},
          {"mu_squared", entry.charged.mu_squared},
          {"coordinates", entry.charged.coordinates},
          {"too_long", entry.charged.too_long},
          {"settled", SecondsSince1970()}});
  Chain(database_).Append({"settling", {entry.recovery, entry.device}});
}

void SqlJobs::AddHalt(int64_t job, const HaltRecord& record) {
  Statement now(
      database_,
      "SELECT (SELECT count(*) FROM attempts WHERE job = number), "
      "coalesce((SELECT rounds FROM extensions WHERE job = j.number ORDER BY number DESC "
      "LIMIT 1), json_extract(configuration, '$.rounds')) FROM jobs AS j WHERE number = ?");
  now.Bind(job).Step();
  const std::optional<HaltEntry> last = HaltOf(job);
  const HaltEntry halt = {
      last ? last->number + 1 : 1, now.Integer(0), now.Integer(1), record.kind, record.reason,
      SecondsSince1970()};
  if (last && last->SaysTheSameAs(halt)) return;
  Insert(database_, "halts",
         {{"job", job},
          {"number", halt.number},
          {"attempts", halt.attempts},
          {"rounds", halt.rounds},
          {"kind", Name(halt.kind)},
          {"reason", halt.reason},
          {"since", halt.since}});
  Chain(database_).Append({"halt", {job, halt.number}});
  if (IsEnd(halt.kind)) AnswerAll(JobAct::kStop, job, record.reason);
}

int64_t SqlJobs::AddRequest(const JobAsk& ask) {
  const int64_t number = database_.Integer("SELECT coalesce(max(number), 0) + 1 FROM job_requests");
  Insert(database_, "job_requests",
         {{"number", number},
          {"act", Name(ask.act)},
          {"job", ask.job},
          {"settings", ask.settings},
          {"agreed", ask.agreed},
          {"bundle", ByteSpan(ask.model.data(), ask.model.size())},
          {"asked", SecondsSince1970()}});
  Chain(database_).Append({"request", {number}});
  return number;
}

void SqlJobs::AddAnswer(int64_t request, const JobAnswer& answer) {
  Insert(database_, "job_answers",
         {{"request", request},
          {"outcome", Name(answer.outcome)},
          {"job", answer.job},
          {"reason", answer.reason},
          {"answered", SecondsSince1970()}});
  Chain(database_).Append({"answer", {request}});
}

bool SqlJobs::IsAnswered(int64_t request) {
  Statement row(database_, "SELECT 1 FROM job_answers WHERE request = ?");
  return row.Bind(request).Step();
}

void SqlJobs::AnswerAll(JobAct act, int64_t job, const std::string& reason) {
  for (const JobRequestEntry& request : ReadRequests()) {
    if (request.answer || request.ask.act != act || request.ask.job != job) continue;
    AddAnswer(request.number, {JobOutcome::kDone, 0, reason});
  }
}

std::vector<JobRequestEntry> SqlJobs::ReadRequests() {
  std::vector<JobRequestEntry> requests;
  Statement row(database_,
                "SELECT number, act, r.job, settings, agreed, asked, outcome, a.job, reason, "
                "answered, CASE WHEN outcome IS NULL THEN bundle END FROM job_requests AS r LEFT "
                "JOIN job_answers AS a ON request = number "
                "ORDER BY number");
  while (row.Step()) {
    JobRequestEntry entry;
    entry.number = row.Integer(0);
    entry.ask = {privacy::ValueIn(kJobActs, "request", row.Text(1)), row.Integer(2), row.Text(3),
                 row.Integer(4) != 0};
    const ByteSpan model = row.Blob(10);
    entry.ask.model.assign(model.begin(), model.end());
    entry.asked = row.Integer(5);
    if (!row.IsNull(6)) {
      entry.answer = {privacy::ValueIn(kJobOutcomes, "answer", row.Text(6)), row.Integer(7),
                      row.Text(8), row.Integer(9)};
    }
    requests.push_back(std::move(entry));
  }
  return requests;
}

}  // namespace sotto::server
