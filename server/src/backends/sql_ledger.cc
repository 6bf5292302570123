#include "backends/sql_ledger.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>

#include "backends/sql_chain.h"
#include "store/history.h"

namespace sotto::server {
namespace {

// Reads a row's values from left to right.
class Columns {
 public:
  explicit Columns(const Statement& row) : row_(row) {}

  int64_t Integer() { return row_.Integer(next_++); }
  double Real() { return row_.Real(next_++); }
  std::string Text() { return row_.Text(next_++); }
  double RealOrInfinity() { return row_.RealOrInfinity(next_++); }
  std::optional<double> RealIfAny() {
    const int column = next_++;
    return row_.IsNull(column) ? std::nullopt : std::optional<double>(row_.Real(column));
  }

 private:
  const Statement& row_;
  int next_ = 0;
};

std::string Join(const std::vector<privacy::Assumption>& assumptions) {
  std::string names;
  for (const privacy::Assumption assumption : assumptions) {
    names += std::string(names.empty() ? "" : ",") + privacy::Name(assumption);
  }
  return names;
}

std::vector<privacy::Assumption> Split(const std::string& names) {
  std::vector<privacy::Assumption> assumptions;
  for (size_t begin = 0; begin < names.size();) {
    const size_t end = std::min(names.find(',', begin), names.size());
    assumptions.push_back(privacy::AssumptionByName(names.substr(begin, end - begin)));
    begin = end + 1;
  }
  return assumptions;
}

constexpr char kSelectFacts[] =
    "SELECT job, round, mechanism, sampling, devices, facts.cohort, planned, rounds, dimension, "
    "clip_l2, clip_bit_scale, sigma, colluders, delta, private_noise_multiplier, too_long, "
    "participants_known, participations, limit_rounds, turn_order, timed_reports, certificate_eta, "
    "certificate_tau, certificate_range, "
    "json_extract(configuration, '$.devices'), json_extract(configuration, '$.device_floor'), "
    "reported, "
    "noise_multiplier, accounted_noise_multiplier, "
    "attempts, charged_rounds, earlier_rounds, numeric_error, seeded "
    "FROM facts JOIN releases USING (job, round) JOIN jobs ON job = jobs.number "
    "ORDER BY job, round";

privacy::Plan ToPlan(Columns& columns) {
  privacy::Plan plan;
  plan.sampling = privacy::SamplingByName(columns.Text());
  plan.devices = columns.Integer();
  plan.cohort = columns.Integer();
  plan.planned_reports = columns.Integer();
  plan.rounds = columns.Integer();
  plan.dimension = columns.Integer();
  plan.clip_l2 = columns.Real();
  plan.clip_bit_scale = columns.Real();  // of all extra coordinates, see AddFacts()
  plan.noise_sigma = columns.Real();
  plan.colluders = columns.Integer();
  plan.delta = columns.Real();
  plan.private_noise_multiplier = columns.Real();
  plan.too_long = columns.Real();
  plan.participants_known = columns.Integer() != 0;
  plan.participations = columns.Integer();
  plan.limit_rounds = columns.Integer();
  plan.order = privacy::OrderByName(columns.Text());
  plan.timed_reports = columns.Integer() != 0;
  plan.certificate.eta = columns.Real();
  plan.certificate.tau = columns.Real();
  plan.certificate.range = columns.Real();
  const int64_t planned_devices = columns.Integer();
  const bool has_rate = plan.sampling == privacy::Sampling::kPoisson;
  if (has_rate && planned_devices != plan.devices) plan.rate_devices = planned_devices;
  plan.device_floor = columns.Integer();  // 0 if the configuration has none
  return plan;
}

// Reads the columns in the order of kSelectFacts.
LedgerEntry ToEntry(const Statement& row) {
  Columns columns(row);
  LedgerEntry entry;
  entry.job = columns.Integer();
  entry.round = static_cast<uint32_t>(columns.Integer());
  entry.mechanism = columns.Text();
  entry.plan = ToPlan(columns);
  entry.reported = columns.Integer();
  entry.noise_multiplier = columns.Real();
  entry.accounted_noise_multiplier = columns.Real();
  entry.attempts = columns.Integer();
  entry.charged_rounds = columns.Integer();
  entry.earlier_rounds = columns.Integer();
  entry.numeric_error = columns.RealOrInfinity();
  entry.seeded = columns.Integer() != 0;
  return entry;
}

constexpr char kSelectClaims[] =
    "SELECT job, round, adversary, view, unit, adjacency, sensitivity, colluders, trust_mode, "
    "epsilon, delta, accountant, assumptions, mu, attacker_right, participations, "
    "epsilon_zero_out FROM claims ORDER BY job, round, position";

privacy::Claim ToClaim(Columns& columns) {
  privacy::Claim claim;
  claim.adversary = privacy::AdversaryByName(columns.Text());
  claim.view = privacy::ViewByName(columns.Text());
  claim.unit = privacy::UnitByName(columns.Text());
  claim.adjacency = privacy::AdjacencyByName(columns.Text());
  claim.sensitivity = columns.Real();
  claim.colluders = columns.Integer();
  claim.trust_mode = privacy::TrustModeByName(columns.Text());
  claim.epsilon = columns.RealOrInfinity();
  claim.delta = columns.Real();
  claim.accountant = columns.Text();
  claim.assumptions = Split(columns.Text());
  claim.mu = columns.RealIfAny();
  claim.attacker_right = columns.RealIfAny();
  claim.participations = columns.Integer();
  claim.zero_out_epsilon = columns.RealIfAny();
  return claim;
}

// Adds the claims to their entries. Both lists are in the order of job and round, and the release
// of every claim has an entry.
void ReadClaims(Database& database, std::vector<LedgerEntry>* entries) {
  auto entry = entries->begin();
  Statement row(database, kSelectClaims);
  while (row.Step()) {
    Columns columns(row);
    const int64_t job = columns.Integer();
    const int64_t round = columns.Integer();
    while (entry != entries->end() && (entry->job != job || entry->round != round)) ++entry;
    if (entry == entries->end()) return;
    entry->claims.push_back(ToClaim(columns));
  }
}

void AddFacts(Database& database, int64_t job, const ReleaseRecord& record, bool seeded) {
  const privacy::Plan plan = PlanOfRound(record);
  const privacy::Statement& spent = record.spent;
  Insert(
      database, "facts",
      {{"job", job},
       {"round", record.round},
       {"mechanism", record.codec->name},
       {"sampling", privacy::Name(plan.sampling)},
       {"devices", plan.devices},
       {"cohort", plan.cohort},
       {"planned", plan.planned_reports},
       {"rounds", plan.rounds},
       {"dimension", plan.dimension},
       {"clip_l2", plan.clip_l2},
       {"clip_bit_scale", plan.ExtraScale()},  // the sensitivity depends on the norm of both alone
       {"sigma", plan.noise_sigma},
       {"colluders", plan.colluders},
       {"delta", plan.delta},
       {"private_noise_multiplier", plan.private_noise_multiplier},
       {"too_long", plan.too_long},
       {"participants_known", plan.participants_known},
       {"participations", plan.participations},
       {"limit_rounds", plan.limit_rounds},
       {"turn_order", privacy::Name(plan.order)},
       {"timed_reports", plan.timed_reports},
       {"certificate_eta", plan.certificate.eta},
       {"certificate_tau", plan.certificate.tau},
       {"certificate_range", plan.certificate.range},
       {"noise_multiplier", spent.noise_multiplier},
       {"accounted_noise_multiplier", spent.accounted_noise_multiplier},
       {"attempts", record.attempts},
       {"charged_rounds", spent.rounds},
       {"earlier_rounds", spent.earlier_rounds},
       {"numeric_error", spent.numeric_error()},
       {"seeded", seeded}});
}

void AddClaims(Database& database, int64_t job, const ReleaseRecord& record) {
  constexpr double kNone = std::numeric_limits<double>::infinity();  // is written as NULL
  int64_t position = 0;
  for (const privacy::Claim& claim : ClaimsToKeep(record)) {
    Insert(database, "claims",
           {{"job", job},
            {"round", record.round},
            {"position", position++},
            {"adversary", privacy::Name(claim.adversary)},
            {"view", privacy::Name(claim.view)},
            {"unit", privacy::Name(claim.unit)},
            {"adjacency", privacy::Name(claim.adjacency)},
            {"sensitivity", claim.sensitivity},
            {"colluders", claim.colluders},
            {"trust_mode", privacy::Name(claim.trust_mode)},
            {"epsilon", claim.epsilon},
            {"delta", claim.delta},
            {"accountant", claim.accountant},
            {"assumptions", Join(claim.assumptions)},
            {"mu", claim.mu.value_or(kNone)},
            {"attacker_right", claim.attacker_right.value_or(kNone)},
            {"participations", claim.participations},
            {"epsilon_zero_out", claim.zero_out_epsilon.value_or(kNone)}});
  }
}

void ReadClasses(Database& database, StoredEvaluation* stored) {
  Statement row(database,
                "SELECT correct, total, name FROM evaluated_classes WHERE job = ? AND round = ? "
                "ORDER BY class");
  row.Bind(stored->job, stored->round);
  while (row.Step()) {
    stored->evaluation.classes.push_back(
        {static_cast<uint64_t>(row.Integer(0)), static_cast<uint64_t>(row.Integer(1))});
    if (!row.Text(2).empty()) stored->data.class_names.push_back(row.Text(2));
  }
}

}  // namespace

std::vector<LedgerEntry> ReadLedger(Database& database) {
  try {
    std::vector<LedgerEntry> entries;
    Statement row(database, kSelectFacts);
    Chain chain(database);
    while (row.Step()) {
      entries.push_back(ToEntry(row));
      chain.RequireIntact({"release", {entries.back().job, entries.back().round}});
    }
    ReadClaims(database, &entries);
    return entries;
  } catch (const std::invalid_argument& error) {
    throw std::runtime_error(database.name() + ": its ledger is damaged: " + error.what() +
                             "; begin a new job in a new store");
  }
}

void AddToLedger(Database& database, int64_t job, const ReleaseRecord& record, bool seeded) {
  AddFacts(database, job, record, seeded);
  AddClaims(database, job, record);
}

void AddEvaluation(Database& database, const StoredEvaluation& stored) {
  Insert(database, "evaluations",
         {{"job", stored.job},
          {"round", stored.round},
          {"data", stored.data.name},
          {"data_sha256", stored.data.sha256},
          {"samples", static_cast<int64_t>(stored.evaluation.samples)},
          {"loss", stored.evaluation.loss},
          {"evaluated", stored.evaluated}});
  const std::vector<std::string>& names = stored.data.class_names;
  for (size_t label = 0; label < stored.evaluation.classes.size(); ++label) {
    const ClassCount& each = stored.evaluation.classes[label];
    Insert(database, "evaluated_classes",
           {{"job", stored.job},
            {"round", stored.round},
            {"class", static_cast<int64_t>(label)},
            {"name", label < names.size() ? names[label] : ""},
            {"correct", static_cast<int64_t>(each.correct)},
            {"total", static_cast<int64_t>(each.total)}});
  }
}

std::vector<StoredEvaluation> ReadEvaluations(Database& database) {
  std::vector<StoredEvaluation> all;
  Statement row(database,
                "SELECT job, round, data, data_sha256, samples, loss, evaluated FROM evaluations "
                "ORDER BY job, round");
  while (row.Step()) {
    StoredEvaluation stored;
    stored.job = row.Integer(0);
    stored.round = static_cast<uint32_t>(row.Integer(1));
    stored.data = {row.Text(2), row.Text(3), {}};
    stored.evaluation.samples = static_cast<uint64_t>(row.Integer(4));
    stored.evaluation.loss = row.IsNull(5) ? std::numeric_limits<double>::quiet_NaN() : row.Real(5);
    stored.evaluated = row.Integer(6);
    ReadClasses(database, &stored);
    all.push_back(std::move(stored));
  }
  return all;
}

void AddFigures(Database& database, int64_t job, const RoundRecord& record) {
  Insert(database, "round_records",
         {{"job", job},
          {"round", record.round},
          {"attempt", record.attempt},
          {"released", record.released},
          {"figures", record.figures}});
  Chain(database).Append({"figures", {job, record.round, record.attempt}});
}

std::vector<RoundRecord> ReadFigures(Database& database) {
  std::vector<RoundRecord> all;
  Statement row(database,
                "SELECT job, round, attempt, released, figures FROM round_records "
                "ORDER BY job, round, attempt");
  while (row.Step()) {
    all.push_back({row.Integer(0), static_cast<uint32_t>(row.Integer(1)),
                   static_cast<uint32_t>(row.Integer(2)), row.Integer(3) != 0, row.Text(4)});
  }
  return all;
}

}  // namespace sotto::server
