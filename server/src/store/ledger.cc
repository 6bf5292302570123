#include "store/ledger.h"

#include <limits>

namespace sotto::server {
namespace {

// Reads a row's values from left to right.
class Columns {
 public:
  explicit Columns(const Statement& row) : row_(row) {}

  int64_t Integer() { return row_.Integer(next_++); }
  double Real() { return row_.Real(next_++); }
  std::string Text() { return row_.Text(next_++); }
  double RealOrInfinity() {
    const int column = next_++;
    return row_.IsNull(column) ? std::numeric_limits<double>::infinity() : row_.Real(column);
  }

 private:
  const Statement& row_;
  int next_ = 0;
};

// In the order of the columns that ReadLedger() selects.
LedgerEntry ToEntry(const Statement& row) {
  Columns columns(row);
  LedgerEntry entry;
  entry.job = columns.Integer();
  entry.round = static_cast<uint32_t>(columns.Integer());
  entry.mechanism = columns.Text();
  entry.noise_sigma = columns.Real();
  entry.clip_l2 = columns.Real();
  entry.devices = columns.Integer();
  entry.cohort = columns.Integer();
  entry.planned_reports = columns.Integer();
  entry.reported = columns.Integer();
  entry.dimension = columns.Integer();
  entry.certificate.eta = columns.Real();
  entry.certificate.tau = columns.Real();
  entry.certificate.range = columns.Real();
  entry.noise_multiplier = columns.Real();
  entry.accounted_noise_multiplier = columns.Real();
  entry.colluders = columns.Integer();
  entry.attempts = columns.Integer();
  entry.charged_rounds = columns.Integer();
  entry.earlier_rounds = columns.Integer();
  entry.adjacency = columns.Text();
  entry.sampling = columns.Text();
  entry.unit = columns.Text();
  entry.trust_mode = columns.Text();
  entry.accountant = columns.Text();
  entry.numeric_error = columns.RealOrInfinity();
  entry.delta = columns.Real();
  entry.epsilon = columns.RealOrInfinity();
  entry.epsilon_network = columns.RealOrInfinity();
  entry.private_noise_multiplier = columns.Real();
  entry.epsilon_server = columns.RealOrInfinity();
  entry.epsilon_server_update = columns.RealOrInfinity();
  entry.seeded = columns.Integer() != 0;
  return entry;
}

}  // namespace

std::vector<LedgerEntry> ReadLedger(Database& database) {
  std::vector<LedgerEntry> entries;
  Statement row(database,
                "SELECT job, round, mechanism, sigma, clip_l2, devices, ledger.cohort, planned, "
                "reported, dimension, certificate_eta, certificate_tau, certificate_range, "
                "noise_multiplier, accounted_noise_multiplier, colluders, attempts, "
                "charged_rounds, earlier_rounds, adjacency, sampling, unit, trust_mode, "
                "accountant, numeric_error, delta, epsilon, epsilon_network, "
                "private_noise_multiplier, epsilon_server, epsilon_server_update, seeded "
                "FROM ledger JOIN releases USING (job, round) ORDER BY job, round");
  while (row.Step()) entries.push_back(ToEntry(row));
  return entries;
}

void AddToLedger(Database& database, int64_t job, const ReleaseRecord& record, bool seeded) {
  const bool is_private = record.codec->certified;
  const double infinity = std::numeric_limits<double>::infinity();
  const privacy::Statement& spent = record.spent;
  const privacy::Plan& plan = record.plan;
  Statement insert(database,
                   "INSERT INTO ledger (job, round, mechanism, sigma, clip_l2, devices, cohort, "
                   "planned, dimension, certificate_eta, certificate_tau, certificate_range, "
                   "noise_multiplier, accounted_noise_multiplier, colluders, attempts, "
                   "charged_rounds, earlier_rounds, adjacency, sampling, unit, trust_mode, "
                   "accountant, numeric_error, delta, epsilon, epsilon_network, "
                   "private_noise_multiplier, epsilon_server, epsilon_server_update, seeded) "
                   "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
                   "?, ?, ?, ?, ?, ?, ?, ?)");
  insert.BindInteger(job)
      .BindInteger(record.round)
      .BindText(record.codec->name)
      .BindReal(record.noise_sigma)
      .BindReal(record.clip_l2)
      .BindInteger(plan.devices)
      .BindInteger(plan.cohort)
      .BindInteger(plan.planned_reports)
      .BindInteger(plan.dimension)
      .BindReal(plan.certificate.eta)
      .BindReal(plan.certificate.tau)
      .BindReal(plan.certificate.range)
      .BindReal(spent.noise_multiplier)
      .BindReal(spent.accounted_noise_multiplier)
      .BindInteger(spent.colluders)
      .BindInteger(record.attempts)
      .BindInteger(spent.rounds)
      .BindInteger(spent.earlier_rounds)
      .BindText(privacy::Name(spent.adjacency))
      .BindText(privacy::Name(spent.sampling))
      .BindText(privacy::Name(spent.unit))
      .BindText(privacy::Name(spent.trust_mode))
      .BindText(spent.accountant)
      .BindReal(spent.numeric_error)
      .BindReal(spent.delta)
      .BindReal(is_private ? spent.epsilon : infinity)
      .BindReal(is_private ? spent.epsilon_network : infinity)
      .BindReal(spent.private_noise_multiplier)
      .BindReal(spent.epsilon_server)
      .BindReal(spent.epsilon_server_update)
      .BindInteger(seeded)
      .Run();
}

}  // namespace sotto::server
