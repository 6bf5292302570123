#include "cli/account_options.h"

#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "plans/calibration.h"
#include "round/job_config.h"
#include "sotto/certificate.h"
#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

constexpr char kRounds[] = "Rounds";
constexpr char kFleet[] = "A fleet instead of ideal noise";
constexpr char kDiffer[] = "Rounds that differ";
// Each round of a schedule is one group.
constexpr int64_t kMaxDifferentRounds = 1'000'000;

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
  return privacy::Accounted(SamplingOf(o)) == privacy::Sampling::kNone ? 1.0
                                                                       : Required(o.rate, "--rate");
}

int64_t RoundsOption(const AccountOptions& o, AccountQuestion question) {
  if (question == AccountQuestion::kRounds) return 1;
  const int64_t rounds = Required(o.rounds, "--rounds");
  RequireRounds(rounds);
  return rounds;
}

std::vector<privacy::LearningRateSchedule> Schedules() {
  std::vector<privacy::LearningRateSchedule> all;
  for (int i = 0; i <= static_cast<int>(privacy::LearningRateSchedule::kInverseSqrtAllSteps); ++i) {
    all.push_back(static_cast<privacy::LearningRateSchedule>(i));
  }
  return all;
}

// The schedule of the options; devices compute with float32 values.
privacy::RoundSchedule TermsOf(const AccountOptions& o) {
  privacy::RoundSchedule terms = o.terms;
  const bool has_steps = terms.bound.steps > 0 && o.learning_rate > 0;
  if (o.gradient_clip > 0 && !has_steps) {
    throw std::invalid_argument(
        "--gradient-clip: the bound of a round follows from its local steps; give --local-steps "
        "and --learning-rate, too");
  }
  terms.bound.gradient_clip = static_cast<double>(o.gradient_clip);
  terms.bound.proximal = static_cast<double>(o.proximal);
  terms.bound.rate.base = static_cast<double>(o.learning_rate);
  for (const auto schedule : Schedules()) {
    if (o.rate_schedule == privacy::Name(schedule)) terms.bound.rate.schedule = schedule;
  }
  return terms;
}

void RefuseWithSchedule(const AccountOptions& o) {
  if (o.noise_multiplier || o.rate || o.rounds || o.is_fleet() || !TermsOf(o).IsConstant()) {
    throw std::invalid_argument(
        "--schedule has the noise multiplier, rate and number of the rounds in its rows; leave out "
        "--noise-multiplier, --rate, --rounds, --cohort, --noise-decay and --gradient-clip");
  }
}

// The rounds of a schedule, whose first one is given.
std::vector<privacy::GaussianRounds> RoundsThatDiffer(const privacy::RoundSchedule& terms,
                                                      const privacy::GaussianRounds& first) {
  terms.Validate(first.rounds);
  if (first.rounds > kMaxDifferentRounds) {
    throw std::invalid_argument(fmt::format(
        "--rounds is {}; of rounds that differ at most 10^6 are counted", first.rounds));
  }
  std::vector<privacy::GaussianRounds> rounds(static_cast<size_t>(first.rounds), first);
  for (size_t t = 0; t < rounds.size(); ++t) {
    rounds[t].rounds = 1;
    rounds[t].noise_multiplier *= terms.TermsOf(static_cast<int64_t>(t)).noise_per_clip();
  }
  return rounds;
}

// The options of sotto simulate and sotto serve of the same names.
void AddSchedule(CLI::App& command, AccountOptions& o) {
  privacy::RoundSchedule& terms = o.terms;
  command
      .add_option("--noise-decay", terms.noise_decay,
                  "tau: the noise of round k, from 0, is that of the first times tau^(k/4)")
      ->capture_default_str()
      ->group(kDiffer);
  privacy::StepBound& bound = terms.bound;
  CLI::Option* clip =
      command
          .add_option("--gradient-clip", o.gradient_clip,
                      "V: the bound of a round follows from its local steps, as with "
                      "--clip-from-steps of a job, and --clip counts for nothing; bound and noise "
                      "are float32 values as on devices")
          ->group(kDiffer);
  command.add_option("--proximal", o.proximal, "alpha of Noisy-FedProx")
      ->needs(clip)
      ->group(kDiffer);
  command.add_option("--local-steps", bound.steps, "K, steps of a round")
      ->needs(clip)
      ->group(kDiffer);
  command.add_option("--learning-rate", o.learning_rate, "mu, of the first step")
      ->needs(clip)
      ->group(kDiffer);
  command
      .add_option("--learning-rate-decay", bound.rate.decay,
                  "gamma, from round to round; a job's is 0.99 unless it says another")
      ->capture_default_str()
      ->needs(clip)
      ->group(kDiffer);
  std::vector<std::string> names;
  for (const auto schedule : Schedules()) names.emplace_back(privacy::Name(schedule));
  command.add_option("--learning-rate-schedule", o.rate_schedule, "how the rate falls")
      ->capture_default_str()
      ->check(CLI::IsMember(names))
      ->needs(clip)
      ->group(kDiffer);
}

}  // namespace

void AddAccountOptions(CLI::App& command, AccountQuestion question, AccountOptions& o) {
  command
      .add_option("--sampling", o.sampling,
                  "poisson: add/remove adjacency; uniform: cohorts of fixed size, replace-one; "
                  "full or none: everybody takes part, whatever the rate")
      ->capture_default_str()
      ->check(CLI::IsMember({"poisson", "uniform", "full", "none"}))
      ->group(kRounds);
  if (question != AccountQuestion::kNoise) {
    command
        .add_option(
            "--noise-multiplier", o.noise_multiplier,
            "deviation of the sum's noise over its sensitivity (C for poisson, 2C else), in the "
            "first round")
        ->group(kRounds);
  }
  command.add_option("--rate", o.rate, "chance of a device to be in a round, in [0, 1]")
      ->group(kRounds);
  if (question != AccountQuestion::kRounds) {
    AddSchedule(command, o);
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
  if (question != AccountQuestion::kRounds) {
    command
        .add_option(
            "--clip", o.clip,
            "C, of the first round; with it bound and noise are float32 values as on devices")
        ->needs(cohort)
        ->group(kFleet);
  }
  if (question == AccountQuestion::kEpsilon) {
    command
        .add_option("--noise-sigma", o.noise_sigma,
                    "deviation of one device's noise in the first round instead of "
                    "--noise-multiplier")
        ->group(kFleet);
  }
  command.add_option("--json", o.json, "write the figures to this file; - is standard output");
}

privacy::Sampling SamplingOf(const AccountOptions& o) {
  return privacy::SamplingByName(o.sampling);
}

double DeltaOf(const AccountOptions& o) { return Required(o.delta, "--delta"); }

double TargetOf(const AccountOptions& o) { return Required(o.epsilon, "--epsilon"); }

double NoiseMultiplierOf(const AccountOptions& o) {
  return Required(o.noise_multiplier, "--noise-multiplier");
}

std::vector<privacy::GaussianRounds> RoundsOf(const AccountOptions& o, AccountQuestion question) {
  if (o.noise_sigma) {
    throw std::invalid_argument(
        "--noise-sigma is the noise of one device of a fleet: give its --cohort and --dimension, "
        "or --noise-multiplier instead");
  }
  if (!o.schedule.empty()) {
    RefuseWithSchedule(o);
    return ReadSchedule(o.schedule, privacy::Accounted(SamplingOf(o)));
  }
  privacy::GaussianRounds rounds;
  rounds.sampling = privacy::Accounted(SamplingOf(o));
  rounds.noise_multiplier = question == AccountQuestion::kNoise ? 1.0 : NoiseMultiplierOf(o);
  rounds.sampling_rate = RateOf(o);
  rounds.rounds = RoundsOption(o, question);
  if (!TermsOf(o).IsConstant()) return RoundsThatDiffer(TermsOf(o), rounds);
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
  plan.schedule = TermsOf(o);
  const privacy::StepBound& bound = plan.schedule.bound;
  plan.clip_l2 =
      bound.IsSet() ? static_cast<double>(FloatAtLeast(BoundOf(bound, 0))) : o.clip.value_or(1.0);
  plan.colluders = o.colluders;
  plan.delta = DeltaOf(o);
  plan.certificate = {kDitherEta, kDitherTau, kDitherRange};
  return plan;
}

privacy::Plan AsOnDevices(const AccountOptions& o, const privacy::Plan& plan) {
  return o.clip || TermsOf(o).bound.IsSet() ? RoundToDevice(plan) : plan;
}

privacy::Plan NoisyFleetPlan(const AccountOptions& o, privacy::Accountant accountant) {
  privacy::Plan plan = AsOnDevices(o, FleetPlan(o, AccountQuestion::kEpsilon));
  plan.accountant = accountant;
  if (!o.noise_sigma) {
    return AsOnDevices(o, privacy::PlanForNoiseMultiplier(plan, NoiseMultiplierOf(o)).plan);
  }
  if (o.noise_multiplier) {
    throw std::invalid_argument(
        "--noise-sigma and --noise-multiplier both say how much noise; leave one out");
  }
  return AsOnDevices(o, privacy::PlanForNoiseSigma(plan, *o.noise_sigma).plan);
}

}  // namespace sotto::server
