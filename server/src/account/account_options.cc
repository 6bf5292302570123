#include "account/account_options.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <sstream>
#include <stdexcept>

#include "cli/rows.h"
#include "plans/calibration.h"
#include "round/job_config.h"
#include "sotto/certificate.h"
#include "sotto/posix/text.h"

namespace sotto::server {
namespace {

using privacy::LearningRateSchedule;
using AccountRow = posix::Field<AccountOptions>;
using AccountRows = std::vector<AccountRow>;

constexpr char kDiffer[] = "Rounds that differ";
constexpr char kCurves[] = "Curves";
constexpr int64_t kMost = 1'000'000'000;  // rounds, devices, parameters
// Each round of a schedule is one group.
constexpr int64_t kMaxDifferentRounds = 1'000'000;
constexpr posix::Range kCount = {1, kMost};
constexpr posix::Range kFactorOrNone = {0, 1e6};

template <typename Value>
Value Required(const std::optional<Value>& value, const char* option) {
  if (value) return *value;
  throw std::invalid_argument(fmt::format("{} is missing", option));
}

constexpr char kScheduleRow[] = "expected Z,Q,T: noise multiplier, rate, rounds";

// A row "Z,Q,T" of a schedule; nothing for another text.
std::optional<privacy::GaussianRounds> ParseRow(const std::string& line,
                                                privacy::Sampling sampling) {
  std::istringstream stream(line);
  privacy::GaussianRounds row;
  row.sampling = sampling;
  char first_comma = 0;
  char second_comma = 0;
  stream >> row.noise_multiplier >> first_comma >> row.sampling_rate >> second_comma >> row.rounds;
  std::string rest;
  if (!stream || first_comma != ',' || second_comma != ',' || stream >> rest) return std::nullopt;
  return row;
}

// Whether a first row names the columns, in their order.
bool IsScheduleHeader(std::string line) {
  line.erase(std::remove_if(line.begin(), line.end(),
                            [](char c) { return c == ' ' || c == '\t' || c == '"'; }),
             line.end());
  std::transform(line.begin(), line.end(), line.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::tolower(c));
  });
  return line == "z,q,t" || line == "noise_multiplier,rate,rounds" ||
         line == "noisemultiplier,rate,rounds";
}

std::vector<privacy::GaussianRounds> ReadSchedule(const std::string& path,
                                                  privacy::Sampling sampling) {
  posix::TextLines lines(path);
  std::vector<privacy::GaussianRounds> rows;
  for (std::string line; lines.Next(&line);) {
    if (line.empty() || (lines.is_first() && IsScheduleHeader(line))) continue;
    const std::optional<privacy::GaussianRounds> row = ParseRow(line, sampling);
    if (!row) {
      const std::string header = lines.is_first()
                                     ? "; a header names the columns in this order: Z,Q,T or "
                                       "noise_multiplier,rate,rounds"
                                     : "";
      throw std::invalid_argument(
          fmt::format("--schedule: {}", lines.Defect(line, kScheduleRow + header).what()));
    }
    const bool is_possible = row->noise_multiplier >= 0 && std::isfinite(row->noise_multiplier) &&
                             row->sampling_rate >= 0 && row->sampling_rate <= 1 &&
                             row->rounds >= 1 && row->rounds <= kMost;
    if (!is_possible) {
      throw std::invalid_argument(fmt::format(
          "--schedule: {}",
          lines.Defect(line, "expected Z of at least 0, Q in [0, 1], T in [1, 10^9]").what()));
    }
    rows.push_back(*row);
  }
  if (rows.empty()) throw std::invalid_argument(fmt::format("--schedule: {} has no rows", path));
  return rows;
}

double RateOf(const AccountOptions& o) {
  if (o.is_passes()) return o.rate.value_or(1.0);
  return privacy::Accounted(o.sampling) == privacy::Sampling::kNone ? 1.0
                                                                    : Required(o.rate, "--rate");
}

constexpr double kRounding = 1e-9;  // of the product of a rate and a number of rounds

// K. Without --participations the fewest turns with which the rounds are possible.
int64_t ParticipationsOf(const AccountOptions& o, AccountQuestion question) {
  if (question == AccountQuestion::kRounds) return 1;
  if (o.participations) return *o.participations;
  if (!o.rounds || !o.rate) {
    throw std::invalid_argument(
        "--participations is missing: say in how many rounds each device takes part, or give "
        "--rounds and --rate, from which it follows");
  }
  const double turns = std::ceil(static_cast<double>(*o.rounds) * *o.rate - kRounding);
  return std::max<int64_t>(static_cast<int64_t>(turns), 1);
}

int64_t RoundsOption(const AccountOptions& o, AccountQuestion question) {
  if (question == AccountQuestion::kRounds) return 1;
  if (o.is_passes() && !o.rounds) return RoundsOfTurns(o, ParticipationsOf(o, question));
  return Required(o.rounds, "--rounds");
}

void RefuseParticipations(const AccountOptions& o) {
  if (!o.participations || o.is_passes()) return;
  throw std::invalid_argument(fmt::format(
      "--participations is for --sampling passes; with {} nothing limits how often a device takes "
      "part",
      privacy::Name(o.sampling)));
}

// The rounds in which a device of passes takes part: the costliest ones.
std::vector<privacy::GaussianRounds> CostliestTurns(std::vector<privacy::GaussianRounds> rounds,
                                                    int64_t participations) {
  std::sort(rounds.begin(), rounds.end(),
            [](const privacy::GaussianRounds& a, const privacy::GaussianRounds& b) {
              return a.noise_multiplier < b.noise_multiplier;
            });
  std::vector<privacy::GaussianRounds> turns;
  for (privacy::GaussianRounds& group : rounds) {
    if (participations == 0) break;
    group.rounds = std::min(group.rounds, participations);
    participations -= group.rounds;
    turns.push_back(group);
  }
  return turns;
}

// The schedule of the options; devices compute with float32 values.
privacy::RoundSchedule TermsOf(const AccountOptions& o) {
  if (o.gradient_clip > 0 && !(o.local_steps && o.learning_rate)) {
    throw std::invalid_argument(
        "--gradient-clip: the bound of a round follows from its local steps; give --local-steps "
        "and --learning-rate, too");
  }
  privacy::RoundSchedule terms;
  terms.noise_decay = o.noise_decay;
  terms.bound.gradient_clip = static_cast<double>(o.gradient_clip);
  terms.bound.proximal = static_cast<double>(o.proximal);
  terms.bound.steps = o.local_steps.value_or(0);
  terms.bound.rate = {static_cast<double>(o.learning_rate.value_or(0.0F)), o.learning_rate_decay,
                      o.rate_schedule};
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

std::vector<std::string> NamesOfSchedules() {
  std::vector<std::string> names;
  for (int i = 0;; ++i) {
    const std::string name = privacy::Name(static_cast<LearningRateSchedule>(i));
    if (name == "unknown") return names;
    names.push_back(name);
  }
}

std::vector<std::string> NamesOfAccountants() {
  std::vector<std::string> names;
  for (const privacy::Accountant accountant : privacy::OfferedAccountants()) {
    names.emplace_back(accountant.name());
  }
  return names;
}

AccountRows RoundRows() {
  using privacy::Sampling;
  return {
      AccountRow(
          "sampling", &AccountOptions::sampling,
          "which devices take part in a round; poisson: each with the chance --rate, "
          "add/remove adjacency; uniform: a cohort of fixed size, replace-one; passes: each "
          "device in at most --participations rounds, replace-one, no draw is secret; full or "
          "none: all devices, whatever the rate")
          .OneOf(Sampling::kPoisson, Sampling::kUniform, Sampling::kPasses, Sampling::kFull,
                 Sampling::kNone),
      AccountRow(
          "noise-multiplier", &AccountOptions::noise_multiplier,
          "deviation of the sum's noise divided by the sum's sensitivity (C for poisson, 2C else), "
          "in the first round"),
      AccountRow(
          "rate", &AccountOptions::rate,
          "probability that a device is in a round; needed unless all devices take part in every "
          "round")
          .Within({0, 1}),
      AccountRow("rounds", &AccountOptions::rounds, "number of rounds").Within(kCount),
      AccountRow("participations", &AccountOptions::participations,
                 "K, the most rounds in which a device takes part, with --sampling passes")
          .Within(kCount)
          .ByDefault("--rounds times --rate, rounded up"),
      AccountRow("schedule", &AccountOptions::schedule,
                 "CSV file with rows Z,Q,T (noise multiplier, rate, rounds) instead of "
                 "--noise-multiplier, --rate and --rounds"),
      AccountRow("epsilon", &AccountOptions::epsilon,
                 "the budget: the most epsilon that the rounds may cost"),
      AccountRow("delta", &AccountOptions::delta, "the delta at which epsilon holds, in (0, 1)"),
  };
}

// The options of `sotto simulate` and `sotto serve` of the same names.
AccountRows ScheduleRows() {
  return {
      AccountRow(
          "noise-decay", &AccountOptions::noise_decay,
          "tau: the noise of round k, from 0, is the noise of the first round times tau^(k/4)")
          .Within({0, 1, true}),
      AccountRow(
          "gradient-clip", &AccountOptions::gradient_clip,
          "largest L2 norm of a gradient, V: the bound of a round follows from its local "
          "steps, as with --clip-from-steps of a job, and --clip has no effect; bound and noise "
          "are float32 values as on devices; 0: none")
          .Within(kFactorOrNone),
      AccountRow("proximal", &AccountOptions::proximal,
                 "pull of a step towards the round's model, alpha of Noisy-FedProx")
          .Within(kFactorOrNone)
          .Needs("gradient-clip"),
      AccountRow("local-steps", &AccountOptions::local_steps,
                 "steps that a device takes in a round, K")
          .Within({1, 65535})
          .Needs("gradient-clip"),
      AccountRow("learning-rate", &AccountOptions::learning_rate,
                 "size of the first step of the first round, mu")
          .Within({0, 1e6, true})
          .Needs("gradient-clip"),
      AccountRow(
          "learning-rate-decay", &AccountOptions::learning_rate_decay,
          "factor by which each round multiplies the learning rate, gamma; the default of a job is "
          "0.99")
          .Within({0, 1, true})
          .Needs("gradient-clip"),
      AccountRow("learning-rate-schedule", &AccountOptions::rate_schedule,
                 "how the learning rate falls from step to step and round to round")
          .OneOfNames(NamesOfSchedules())
          .Needs("gradient-clip"),
  };
}

AccountRows FleetRows() {
  return {
      AccountRow(
          "cohort", &AccountOptions::cohort,
          "devices in a round, or the expected number with poisson; the fleet has cohort/rate "
          "devices; without --cohort the noise is ideal and nobody colludes")
          .Within(kCount),
      AccountRow("colluders", &AccountOptions::colluders,
                 "participants that tell their noise to the adversary")
          .Within({0, kMost})
          .Needs("cohort"),
      AccountRow("dimension", &AccountOptions::dimension, "parameters of the model")
          .Within(kCount)
          .Needs("cohort"),
      AccountRow(
          "clip", &AccountOptions::clip,
          "largest L2 norm of an update in the first round, C; with it bound and noise are float32 "
          "values as on devices")
          .ByDefault("1, not rounded")
          .Needs("cohort"),
      AccountRow(
          "noise-sigma", &AccountOptions::noise_sigma,
          "deviation of one device's noise in the first round instead of --noise-multiplier, in "
          "model units"),
  };
}

AccountRows CurveRows() {
  return {
      AccountRow("epsilon-csv", &AccountOptions::epsilon_csv,
                 "write epsilon over delta to this file"),
      AccountRow("trade-off-csv", &AccountOptions::trade_off_csv,
                 "write the trade-off curve to this file, a lower bound on the type II error beta "
                 "of each test of level alpha"),
  };
}

AccountRows OutputRows() {
  return {
      JsonRow<AccountOptions>(),
      AccountRow(
          "accountant", [](const AccountOptions& o) { return std::string(o.accountant.name()); },
          [](AccountOptions& o, const std::string& name) {
            o.accountant = privacy::Accountant(name);
          },
          "the method that finds epsilon; best: the smallest sound figure of all")
          .OneOfNames(NamesOfAccountants()),
  };
}

}  // namespace

AccountRows AccountFields() {
  return posix::Joined({posix::Under("Rounds", RoundRows()), posix::Under(kDiffer, ScheduleRows()),
                        posix::Under("A fleet instead of ideal noise", FleetRows()),
                        posix::Under(kCurves, CurveRows()), OutputRows()});
}

posix::Pick TakenBy(AccountQuestion question) {
  const posix::Pick differ = posix::InGroup(kDiffer);
  const posix::Pick no_curves = posix::Without({"epsilon-csv", "trade-off-csv"});
  switch (question) {
    case AccountQuestion::kEpsilon:
      return posix::Both(no_curves, posix::Without({"epsilon"}));
    case AccountQuestion::kNoise:
      return posix::Both(no_curves, posix::Without({"noise-multiplier", "noise-sigma"}));
    case AccountQuestion::kDelta:
      return posix::Both(no_curves, posix::Without({"delta"}));
    case AccountQuestion::kProfile:
      return posix::Without({"delta", "epsilon"});
    case AccountQuestion::kRounds:
      break;
  }
  return posix::Both(
      no_curves,
      posix::Both(posix::Without({"rounds", "participations", "schedule", "clip", "noise-sigma"}),
                  [differ](const posix::FieldText& row) { return !differ(row); }));
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
  RefuseParticipations(o);
  if (!o.schedule.empty()) {
    RefuseWithSchedule(o);
    const std::vector<privacy::GaussianRounds> rows =
        ReadSchedule(o.schedule, privacy::Accounted(o.sampling));
    return o.is_passes() ? CostliestTurns(rows, ParticipationsOf(o, question)) : rows;
  }
  privacy::GaussianRounds rounds;
  rounds.sampling = privacy::Accounted(o.sampling);
  rounds.noise_multiplier = question == AccountQuestion::kNoise ? 1.0 : NoiseMultiplierOf(o);
  rounds.sampling_rate = RateOf(o);
  rounds.rounds = RoundsOption(o, question);
  std::vector<privacy::GaussianRounds> all = {rounds};
  if (!TermsOf(o).IsConstant()) all = RoundsThatDiffer(TermsOf(o), rounds);
  return o.is_passes() ? CostliestTurns(all, ParticipationsOf(o, question)) : all;
}

int64_t RoundsOfTurns(const AccountOptions& o, int64_t participations) {
  if (!o.rate || *o.rate == 0) return participations;
  const double rounds = std::floor(static_cast<double>(participations) / *o.rate + kRounding);
  return static_cast<int64_t>(std::min(rounds, static_cast<double>(kMost)));
}

privacy::Plan FleetPlan(const AccountOptions& o, AccountQuestion question) {
  RefuseParticipations(o);
  privacy::Plan plan;
  plan.sampling = o.sampling;
  if (o.is_passes()) plan.participations = ParticipationsOf(o, question);
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
