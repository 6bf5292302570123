#include "cli/account_command.h"

#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "cli/account_ledger.h"
#include "cli/account_options.h"
#include "cli/account_peers.h"
#include "plans/calibration.h"
#include "plans/statement.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/json_output.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using privacy::Accountant;

constexpr int kDecimals = 4;  // of an epsilon
// A found noise is called the smallest if its epsilon is this share of the target.
constexpr double kCloseEnough = 0.99;

constexpr char kNotABound[] = "approximate, not an upper bound";

// An epsilon of ideal rounds or of a fleet.
struct Answer {
  privacy::AccountedEpsilon accounted;
  std::optional<privacy::Statement> fleet;
  double accounted_noise_multiplier = 0.0;  // of a fleet's first round
};

Answer OfFleet(const privacy::Plan& plan) {
  Answer answer;
  answer.fleet = privacy::Account(plan, plan.rounds);
  answer.accounted_noise_multiplier = plan.AccountedNoiseMultiplier();
  answer.accounted = answer.fleet->terms.front().gaussian;
  answer.accounted.epsilon = answer.fleet->epsilon();
  answer.accounted.epsilon_lower.reset();  // the lower bound holds for ideal rounds only
  return answer;
}

Answer AnswerBy(const AccountOptions& o, Accountant accountant) {
  if (!o.is_fleet()) {
    return {AccountFor(RoundsOf(o, AccountQuestion::kEpsilon), DeltaOf(o), accountant), {}, 0.0};
  }
  return OfFleet(NoisyFleetPlan(o, accountant));
}

// Writes the meaning of an epsilon. It stands beside every epsilon in the output.
Json Meaning(const AccountOptions& o) {
  const privacy::Sampling sampling = SamplingOf(o);
  return {{"delta", DeltaOf(o)},
          {"adjacency", privacy::Name(privacy::PairedAdjacency(sampling))},
          {"sampling", privacy::Name(sampling)},
          {"unit", privacy::Name(privacy::Unit::kDevice)},
          {"trust_mode", privacy::Name(privacy::TrustMode::kTrustedServer)}};
}

void AddAnswer(const Answer& answer, Json& json) {
  const privacy::AccountedEpsilon& accounted = answer.accounted;
  json["epsilon"] = Finite(accounted.epsilon);
  if (accounted.epsilon_lower) json["epsilon_lower"] = Finite(*accounted.epsilon_lower);
  json["winner"] = accounted.winner;
  json["is_upper_bound"] = accounted.is_upper_bound;
  json["numeric_error"] = Finite(accounted.numeric_error);
  if (!answer.fleet) return;
  AddEpsilons(answer.fleet->claims, json);
  json["colluders"] = answer.fleet->Headline().colluders;
  json["accounted_noise_multiplier"] = answer.accounted_noise_multiplier;
  json["claims"] = ClaimsToJson(answer.fleet->claims);
}

std::string MeaningText(const AccountOptions& o) {
  const privacy::Sampling sampling = SamplingOf(o);
  return fmt::format("  {} adjacency, {} sampling, unit {}, {}, {}\n",
                     privacy::Name(privacy::PairedAdjacency(sampling)), privacy::Name(sampling),
                     privacy::Name(privacy::Unit::kDevice),
                     privacy::Name(privacy::TrustMode::kTrustedServer),
                     o.is_fleet() ? fmt::format("colluders: {}, certificate charged", o.colluders)
                                  : "exact Gaussian noise, no colluders");
}

std::string AnswerText(const AccountOptions& o, const Answer& answer) {
  const privacy::AccountedEpsilon& accounted = answer.accounted;
  std::string text = fmt::format("epsilon {} at delta {} by {}",
                                 privacy::EpsilonText(accounted.epsilon, kDecimals),
                                 privacy::DeltaText(DeltaOf(o)), accounted.winner);
  if (!accounted.is_upper_bound) text += fmt::format(": {}", kNotABound);
  if (accounted.epsilon_lower && std::isfinite(*accounted.epsilon_lower)) {
    text += fmt::format("; the true one is at least {}",
                        privacy::LowerBoundText(*accounted.epsilon_lower, kDecimals));
  }
  if (answer.fleet) {
    for (const std::string& other : DescribeOtherClaims(answer.fleet->claims, kDecimals)) {
      text += "; " + other;
    }
  }
  return text + "\n" + MeaningText(o);
}

void RunEpsilon(const AccountOptions& o) {
  const Answer answer = AnswerBy(o, Accountant(o.accountant));
  Json json = Meaning(o);
  json["accountant"] = o.accountant;
  AddAnswer(answer, json);
  Print(o, AnswerText(o, answer), json);
}

// Checks the accountant: only a sound accountant may decide how much noise is enough.
Accountant SoundAccountant(const AccountOptions& o) {
  const Accountant accountant(o.accountant);
  const privacy::Sampling sampling = SamplingOf(o);
  if (accountant.IsUpperBound(sampling)) return accountant;
  throw std::invalid_argument(
      fmt::format("accountant is {}; with sampling it gives no upper bound, and so no noise or "
                  "number of rounds to rely on",
                  accountant.name()));
}

// Rounded up: the epsilon beside it holds for the noise that is printed.
std::string NoiseText(double noise) { return privacy::EpsilonText(noise, 6); }

void RunSigma(const AccountOptions& o) {
  const Accountant accountant = SoundAccountant(o);
  Json json = Meaning(o);
  json["accountant"] = o.accountant;
  json["target_epsilon"] = TargetOf(o);
  std::string text;
  Answer answer;
  if (o.is_fleet()) {
    privacy::Plan plan = AsOnDevices(o, FleetPlan(o, AccountQuestion::kNoise));
    plan.accountant = accountant;
    plan = AsOnDevices(o, privacy::PlanForEpsilon(plan, TargetOf(o)));
    answer = OfFleet(plan);
    json["noise_multiplier"] = plan.NoiseMultiplier();
    json["noise_sigma_over_clip"] = plan.noise_sigma / plan.clip_l2;
    json["noise_sigma"] = plan.noise_sigma;
    json["clip_l2"] = plan.clip_l2;
    json["planned_reports"] = plan.planned_reports;
    text =
        fmt::format("noise multiplier {}, {} of the clipping bound a device{}\n",
                    NoiseText(plan.NoiseMultiplier()), NoiseText(plan.noise_sigma / plan.clip_l2),
                    plan.schedule.IsConstant() ? "" : ", in the first round");
  } else {
    std::vector<privacy::GaussianRounds> rounds = RoundsOf(o, AccountQuestion::kNoise);
    const double factor = NoiseFactor(rounds, TargetOf(o), DeltaOf(o), accountant);
    for (privacy::GaussianRounds& r : rounds) r.noise_multiplier *= factor;
    answer.accounted = AccountFor(rounds, DeltaOf(o), accountant);
    json[o.schedule.empty() ? "noise_multiplier" : "noise_factor"] = factor;
    text = fmt::format("{} {}\n",
                       o.schedule.empty() ? "noise multiplier" : "multiply every row's noise by",
                       NoiseText(factor));
  }
  AddAnswer(answer, json);
  std::string note;
  if (answer.accounted.epsilon < kCloseEnough * TargetOf(o)) {
    note = "  less noise may be enough: for a plan like this the search ends early\n";
  }
  Print(o, text + AnswerText(o, answer) + note, json);
}

void RunRounds(const AccountOptions& o) {
  const Accountant accountant = SoundAccountant(o);
  if (o.is_fleet()) {
    throw std::invalid_argument(
        "--cohort: rounds are counted for ideal noise only; `sotto account "
        "epsilon` with --cohort checks a number of them");
  }
  privacy::GaussianRounds round = RoundsOf(o, AccountQuestion::kRounds).front();
  round.rounds = AffordableRounds(round, TargetOf(o), DeltaOf(o), accountant);
  const Answer answer = {AccountFor({round}, DeltaOf(o), accountant), {}, 0.0};
  Json json = Meaning(o);
  json["accountant"] = o.accountant;
  json["target_epsilon"] = TargetOf(o);
  json["rounds"] = round.rounds;
  const bool or_more = round.rounds == privacy::kMaxAffordableRounds;
  json["or_more"] = or_more;
  AddAnswer(answer, json);
  const char* rounds = or_more ? "or more rounds, as no more are counted; for so many:" : "rounds";
  Print(o, fmt::format("{} {}\n", round.rounds, rounds) + AnswerText(o, answer), json);
}

void RunCompare(const AccountOptions& o) {
  Json comparison = StartComparison(o);
  const std::string text = AddAccountants(o, &comparison);
  Print(o, text, comparison);
}

std::vector<std::string> AccountantNames() {
  std::vector<std::string> names;
  for (const Accountant accountant : privacy::OfferedAccountants()) {
    names.emplace_back(accountant.name());
  }
  return names;
}

// Adds one of the subcommands that take a plan.
void AddQuestion(CLI::App& account, const char* name, const char* description,
                 AccountQuestion question, void (*run)(const AccountOptions&),
                 const char* example) {
  const auto o = std::make_shared<AccountOptions>();
  CLI::App& command = *account.add_subcommand(name, description);
  AddAccountOptions(command, question, *o);
  if (run != RunCompare) {
    command.add_option("--accountant", o->accountant, "best: the smallest sound one")
        ->capture_default_str()
        ->check(CLI::IsMember(AccountantNames()));
  }
  command.footer(fmt::format("Example: sotto account {} {}", name, example));
  command.callback([o, run] {
    RequireOutput(o->json);
    run(*o);
  });
}

}  // namespace

void Print(const AccountOptions& o, const std::string& text, const Json& json) {
  fmt::print(IsStandardOutput(o.json) ? stderr : stdout, "{}", text);
  WriteJson(o.json, json);
}

Json StartComparison(const AccountOptions& o) {
  Json comparison = Meaning(o);
  comparison["accountants"] = Json::array();
  return comparison;
}

std::string AddAccountants(const AccountOptions& o, Json* comparison) {
  std::string text = fmt::format("at delta {}\n{}", privacy::DeltaText(DeltaOf(o)), MeaningText(o));
  for (const Accountant accountant : privacy::OfferedAccountants()) {
    if (o.is_fleet() && !accountant.StatesGuarantees()) continue;
    const Answer answer = AnswerBy(o, accountant);
    Json row = {{"accountant", accountant.name()}};
    AddAnswer(answer, row);
    (*comparison)["accountants"].push_back(row);
    text += fmt::format("  {:<12} epsilon {:>10}  {}\n", accountant.name(),
                        privacy::EpsilonText(answer.accounted.epsilon, kDecimals),
                        answer.accounted.is_upper_bound
                            ? fmt::format("upper bound, by {}", answer.accounted.winner)
                            : kNotABound);
  }
  return text;
}

void AddAccountCommand(CLI::App& app) {
  CLI::App& account =
      *app.add_subcommand("account", "privacy arithmetic: what rounds cost and what was spent");
  account.require_subcommand(1);
  AddQuestion(account, "epsilon", "what the rounds of a plan cost", AccountQuestion::kEpsilon,
              RunEpsilon,
              "--sampling poisson --noise-multiplier 1 --rate 0.05 --rounds 100 --delta 1e-5");
  AddQuestion(account, "sigma", "the noise multiplier that a budget asks for",
              AccountQuestion::kNoise, RunSigma,
              "--sampling uniform --rate 0.05 --rounds 30 --epsilon 6 --delta 1e-5");
  AddQuestion(account, "rounds", "how many rounds a budget pays for, counted up to 10^9",
              AccountQuestion::kRounds, RunRounds,
              "--sampling poisson --noise-multiplier 1 --rate 0.05 --epsilon 6 --delta 1e-5");
  AddQuestion(account, "compare", "all accountants side by side", AccountQuestion::kEpsilon,
              RunCompare,
              "--sampling uniform --noise-multiplier 1 --rate 0.05 --rounds 30 --delta 1e-5");
  AddAccountPeersCommand(account);
  AddAccountLedgerCommand(account);
}

}  // namespace sotto::server
