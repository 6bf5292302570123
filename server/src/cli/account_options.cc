#include "cli/account_options.h"

#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "sotto/certificate.h"
#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

constexpr char kRounds[] = "Rounds";
constexpr char kFleet[] = "A fleet instead of ideal noise";

template <typename Value>
Value Required(const std::optional<Value>& value, const char* option) {
  if (value) return *value;
  throw std::invalid_argument(fmt::format("{} is missing", option));
}

constexpr int64_t kMaxRounds = 1'000'000'000;

void RequireRounds(int64_t rounds) {
  if (rounds >= 1 && rounds <= kMaxRounds) return;
  throw std::invalid_argument(fmt::format("--rounds is {}; it must be in [1, 10^9]", rounds));
}

// A row "Z,Q,T" of a schedule.
privacy::GaussianRounds ParseRow(const std::string& line, privacy::Sampling sampling) {
  std::istringstream stream(line);
  privacy::GaussianRounds row;
  row.sampling = sampling;
  char first_comma = 0;
  char second_comma = 0;
  stream >> row.noise_multiplier >> first_comma >> row.sampling_rate >> second_comma >> row.rounds;
  std::string rest;
  if (!stream || first_comma != ',' || second_comma != ',' || stream >> rest) {
    throw std::invalid_argument(fmt::format(
        "--schedule: the row \"{}\" is not Z,Q,T (noise multiplier, rate, rounds)", line));
  }
  RequireRounds(row.rounds);
  return row;
}

std::vector<privacy::GaussianRounds> ReadSchedule(const std::string& path,
                                                  privacy::Sampling sampling) {
  posix::RequireRegularFile(path);
  std::ifstream file(path);
  if (!file) throw std::runtime_error(fmt::format("cannot read {}", path));
  std::vector<privacy::GaussianRounds> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (!line.empty()) rows.push_back(ParseRow(line, sampling));
  }
  if (rows.empty()) throw std::invalid_argument(fmt::format("--schedule: {} has no rows", path));
  return rows;
}

double RateOf(const AccountOptions& o) {
  return SamplingOf(o) == privacy::Sampling::kNone ? 1.0 : Required(o.rate, "--rate");
}

int64_t RoundsOption(const AccountOptions& o, AccountQuestion question) {
  if (question == AccountQuestion::kRounds) return 1;
  const int64_t rounds = Required(o.rounds, "--rounds");
  RequireRounds(rounds);
  return rounds;
}

void RefuseWithSchedule(const AccountOptions& o) {
  if (o.noise_multiplier || o.rate || o.rounds || o.is_fleet()) {
    throw std::invalid_argument(
        "--schedule has the noise multiplier, rate and number of the rounds in its rows; leave out "
        "--noise-multiplier, --rate, --rounds and --cohort");
  }
}

}  // namespace

void AddAccountOptions(CLI::App& command, AccountQuestion question, AccountOptions& o) {
  command
      .add_option("--sampling", o.sampling,
                  "poisson: add/remove adjacency; uniform: cohorts of fixed size, replace-one; "
                  "none: everybody takes part, whatever the rate")
      ->capture_default_str()
      ->check(CLI::IsMember({"poisson", "uniform", "none"}))
      ->group(kRounds);
  if (question != AccountQuestion::kNoise) {
    command
        .add_option("--noise-multiplier", o.noise_multiplier,
                    "deviation of the sum's noise over its sensitivity (C for poisson, 2C else)")
        ->group(kRounds);
  }
  command.add_option("--rate", o.rate, "chance of a device to be in a round, in [0, 1]")
      ->group(kRounds);
  if (question != AccountQuestion::kRounds) {
    command.add_option("--rounds", o.rounds, "how many")->group(kRounds);
    command
        .add_option("--schedule", o.schedule,
                    "CSV file with rows Z,Q,T (noise multiplier, rate, rounds) instead of those")
        ->group(kRounds);
  }
  if (question != AccountQuestion::kEpsilon) {
    command.add_option("--epsilon", o.epsilon, "the budget")->group(kRounds);
  }
  command.add_option("--delta", o.delta, "in (0, 1)")->group(kRounds);
  CLI::Option* cohort =
      command
          .add_option("--cohort", o.cohort,
                      "devices in a round (expected, for poisson); cohort/rate is the fleet")
          ->group(kFleet);
  command.add_option("--colluders", o.colluders, "participants who tell their noise")
      ->capture_default_str()
      ->needs(cohort)
      ->group(kFleet);
  command.add_option("--dimension", o.dimension, "parameters of the model")
      ->needs(cohort)
      ->group(kFleet);
  command.add_option("--json", o.json, "write the figures to this file; - is standard output");
}

privacy::Sampling SamplingOf(const AccountOptions& o) {
  if (o.sampling == "poisson") return privacy::Sampling::kPoisson;
  return o.sampling == "none" ? privacy::Sampling::kNone : privacy::Sampling::kUniform;
}

double DeltaOf(const AccountOptions& o) { return Required(o.delta, "--delta"); }

double TargetOf(const AccountOptions& o) { return Required(o.epsilon, "--epsilon"); }

double NoiseMultiplierOf(const AccountOptions& o) {
  return Required(o.noise_multiplier, "--noise-multiplier");
}

std::vector<privacy::GaussianRounds> RoundsOf(const AccountOptions& o, AccountQuestion question) {
  if (!o.schedule.empty()) {
    RefuseWithSchedule(o);
    return ReadSchedule(o.schedule, SamplingOf(o));
  }
  privacy::GaussianRounds rounds;
  rounds.sampling = SamplingOf(o);
  rounds.noise_multiplier = question == AccountQuestion::kNoise ? 1.0 : NoiseMultiplierOf(o);
  rounds.sampling_rate = RateOf(o);
  rounds.rounds = RoundsOption(o, question);
  return {rounds};
}

privacy::Plan FleetPlan(const AccountOptions& o, AccountQuestion question) {
  privacy::Plan plan;
  plan.sampling = SamplingOf(o);
  plan.cohort = *o.cohort;
  const double rate = RateOf(o);
  const double devices = std::round(static_cast<double>(plan.cohort) / rate);
  if (!(plan.cohort >= 1 && devices >= static_cast<double>(plan.cohort) && rate > 0 && rate <= 1 &&
        devices <= 1e9) ||
      std::abs(static_cast<double>(plan.cohort) - devices * rate) > 1e-9 * devices) {
    throw std::invalid_argument(
        fmt::format("--cohort {} with --rate {} is no fleet: cohort/rate must be a whole number of "
                    "devices, at least the cohort and at most 10^9",
                    plan.cohort, rate));
  }
  plan.devices = static_cast<int64_t>(devices);
  plan.planned_reports = plan.cohort;
  plan.rounds = RoundsOption(o, question);
  plan.dimension = Required(o.dimension, "--dimension");
  plan.clip_l2 = 1.0;
  plan.colluders = o.colluders;
  plan.delta = DeltaOf(o);
  plan.certificate = {kDitherEta, kDitherTau, kDitherRange};
  return plan;
}

}  // namespace sotto::server
