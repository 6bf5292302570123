#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "account/account_answer.h"
#include "account/account_profile.h"
#include "accounting/figures.h"
#include "cli/commands.h"
#include "plans/calibration.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using privacy::Accountant;

// A found noise is called the smallest if its epsilon is this share of the target.
constexpr double kCloseEnough = 0.99;

void RunEpsilon(const AccountOptions& o) {
  const Answer answer = AnswerBy(o, o.accountant);
  Json json = Meaning(o);
  json["accountant"] = o.accountant.name();
  AddAnswer(answer, json);
  PrintResults(o.json, AnswerText(o, answer), json);
}

// Checks the accountant: only a sound accountant may decide how much noise is enough.
Accountant SoundAccountant(const AccountOptions& o) {
  if (o.accountant.IsUpperBound(privacy::Accounted(o.sampling))) return o.accountant;
  throw std::invalid_argument(
      fmt::format("accountant is {}; with sampling it gives no upper bound, and so no noise or "
                  "number of rounds to rely on",
                  o.accountant.name()));
}

// Rounded up: the epsilon beside it holds for the noise that is printed.
std::string NoiseText(double noise) { return privacy::EpsilonText(noise, 6); }

void RunSigma(const AccountOptions& o) {
  const Accountant accountant = SoundAccountant(o);
  Json json = Meaning(o);
  json["accountant"] = o.accountant.name();
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
    answer = OfRounds(o, rounds, accountant);
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
  PrintResults(o.json, text + AnswerText(o, answer) + note, json);
}

void RunRounds(const AccountOptions& o) {
  const Accountant accountant = SoundAccountant(o);
  if (o.is_fleet()) {
    throw std::invalid_argument(
        "--cohort: rounds are counted for ideal noise only; `sotto account epsilon` with --cohort "
        "checks a number of them");
  }
  privacy::GaussianRounds round = RoundsOf(o, AccountQuestion::kRounds).front();
  round.rounds = AffordableRounds(round, TargetOf(o), DeltaOf(o), accountant);
  const Answer answer = OfRounds(o, {round}, accountant);
  Json json = Meaning(o);
  json["accountant"] = o.accountant.name();
  json["target_epsilon"] = TargetOf(o);
  json["rounds"] = o.is_passes() ? RoundsOfTurns(o, round.rounds) : round.rounds;
  const bool or_more = round.rounds == privacy::kMaxAffordableRounds;
  json["or_more"] = or_more;
  AddAnswer(answer, json);
  const char* unit = o.is_passes() ? "rounds for each device" : "rounds";
  const char* rounds = or_more ? "or more rounds, as no more are counted; for so many:" : unit;
  PrintResults(o.json, fmt::format("{} {}\n", round.rounds, rounds) + AnswerText(o, answer), json);
}

void RunCompare(const AccountOptions& o) {
  Json comparison = StartComparison(o);
  const std::string text = AddAccountants(o, &comparison);
  PrintResults(o.json, text, comparison);
}

// One of the commands that take a plan.
posix::Command QuestionCommand(const char* name, const char* help, AccountQuestion question,
                               void (*run)(const AccountOptions&), const char* example,
                               const posix::Pick& pick = posix::AllRows()) {
  return posix::CommandFor<AccountOptions>(name, help)
      .Takes(AccountFields(), posix::Both(TakenBy(question), pick))
      .Footer(fmt::format("Example: sotto account {} {}", name, example))
      .Runs([run](const AccountOptions& o) {
        RequireOutput(o.json);
        run(o);
      });
}

posix::Command CompareCommand() {
  posix::Command compare = QuestionCommand(
      "compare", "print the figures of all accountants side by side", AccountQuestion::kEpsilon,
      RunCompare, "--sampling uniform --noise-multiplier 1 --rate 0.05 --rounds 30 --delta 1e-5",
      posix::Without({"accountant"}));
  for (const char* option : {"--published", "--devices", "--smoothness", "--constant"}) {
    compare.renamed.push_back({option, "sotto-lab published"});
  }
  return compare;
}

}  // namespace

posix::Command AccountCommand() {
  posix::Command account = posix::CommandOf(
      "account", "compute what rounds cost, and show what jobs have spent",
      {QuestionCommand(
           "epsilon", "compute the epsilon that the rounds of a plan cost",
           AccountQuestion::kEpsilon, RunEpsilon,
           "--sampling poisson --noise-multiplier 1 --rate 0.05 --rounds 100 --delta 1e-5"),
       QuestionCommand("sigma", "find the noise multiplier for a budget", AccountQuestion::kNoise,
                       RunSigma,
                       "--sampling uniform --rate 0.05 --rounds 30 --epsilon 6 --delta 1e-5"),
       QuestionCommand("rounds", "find how many rounds a budget pays for, counted up to 10^9",
                       AccountQuestion::kRounds, RunRounds,
                       "--sampling poisson --noise-multiplier 1 --rate 0.05 --epsilon 6 --delta "
                       "1e-5"),
       QuestionCommand("delta", "compute the delta at an epsilon: the inverse of `account epsilon`",
                       AccountQuestion::kDelta, RunDelta,
                       "--sampling poisson --noise-multiplier 1 --rate 0.05 --rounds 100 "
                       "--epsilon 4"),
       QuestionCommand("profile", "write epsilon over delta, mu and the trade-off curve, as CSV",
                       AccountQuestion::kProfile, RunProfile,
                       "--sampling none --noise-multiplier 4 --rounds 10 --epsilon-csv epsilon.csv "
                       "--trade-off-csv trade-off.csv"),
       CompareCommand(), AccountPlanCommand(), AccountLedgerCommand()});
  account.renamed = {{"peers", "sotto peers account"}};
  return account;
}

}  // namespace sotto::server
