#include "account/account_profile.h"

#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "account/account_answer.h"
#include "accounting/figures.h"
#include "accounting/gdp.h"
#include "accounting/profile.h"
#include "plans/statement.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using privacy::PrivacyPair;

// Deltas of the curve: 10^(-k / kStepsOfTen), k = kStepsOfTen, ..., kStepsOfTen * kLeastTen.
constexpr int kStepsOfTen = 4;
constexpr int kLeastTen = 12;
// x of the levels Phi(x) of the trade-off curve: -kMostLevel to kMostLevel.
constexpr double kMostLevel = 5;
constexpr int kLevels = 201;

AccountOptions At(AccountOptions o, double delta) {
  o.delta = delta;
  return o;
}

privacy::EpsilonOfDelta EpsilonsOf(const AccountOptions& o) {
  return [&o](double delta) {
    if (o.is_fleet()) {
      const privacy::Plan plan = NoisyFleetPlan(At(o, delta), o.accountant);
      return privacy::HeadlineEpsilon(plan, plan.rounds);
    }
    const AccountOptions there = At(o, delta);
    return AccountFor(RoundsOf(there, AccountQuestion::kDelta), delta, o.accountant).epsilon;
  };
}

bool IsUpperBound(const AccountOptions& o) {
  return o.accountant.IsUpperBound(privacy::Accounted(o.sampling));
}

// A fleet's mechanism is one for all deltas, though the cap of Poisson draws follows from a delta:
// from the least one.
privacy::EpsilonOfDelta EpsilonsOfOneFleet(const AccountOptions& o) {
  const privacy::Plan plan = NoisyFleetPlan(At(o, std::pow(10, -kLeastTen)), o.accountant);
  return [plan](double delta) {
    privacy::Plan there = plan;
    there.delta = delta;
    return privacy::HeadlineEpsilon(there, there.rounds);
  };
}

std::vector<PrivacyPair> PairsOf(const privacy::EpsilonOfDelta& answers) {
  std::vector<PrivacyPair> pairs;
  for (int k = kStepsOfTen; k <= kStepsOfTen * kLeastTen; ++k) {
    const double delta = std::pow(10, -static_cast<double>(k) / kStepsOfTen);
    pairs.push_back({answers(delta), delta});
  }
  return pairs;
}

std::string EpsilonCsv(const std::vector<PrivacyPair>& pairs) {
  std::string csv = "delta,epsilon\n";
  for (const PrivacyPair& pair : pairs) {
    csv += fmt::format("{:.17g},{:.17g}\n", pair.delta, pair.epsilon);
  }
  return csv;
}

std::string TradeOffCsv(const privacy::TradeOff& curve) {
  std::string csv = "alpha,beta\n";
  for (int i = 0; i < kLevels; ++i) {
    const double x = kMostLevel * (2.0 * i / (kLevels - 1) - 1);
    csv += fmt::format("{:.17g},{:.17g}\n", privacy::AlphaAt(x), curve.BetaAt(x));
  }
  return csv;
}

// What is known of mu.
struct KnownMu {
  std::optional<double> mu;
  bool is_exact = false;
};

KnownMu MuOf(const AccountOptions& o) {
  if (o.is_fleet()) return {};
  const std::vector<privacy::GaussianRounds> rounds = RoundsOf(o, AccountQuestion::kProfile);
  const double mu = privacy::UnsampledMu(rounds);
  if (!std::isfinite(mu)) return {};
  return {mu, privacy::IsUnsampled(rounds)};
}

std::string MuText(const AccountOptions& o, const KnownMu& known) {
  if (o.is_fleet()) {
    return "no mu: the encoder's noise is certified to be close to Gaussian, which is no mu-GDP\n";
  }
  if (!known.mu) return "no mu: a round has no noise\n";
  const std::string mu = privacy::EpsilonText(*known.mu, 6);
  if (known.is_exact) return fmt::format("mu {}, exact: the rounds are mu-GDP\n", mu);
  return fmt::format("mu {}, an upper bound: as if every device were in every round\n", mu);
}

std::string PairsText(const std::vector<PrivacyPair>& pairs) {
  std::string text = "  delta     epsilon, upper bound\n";
  for (size_t i = 0; i < pairs.size(); i += kStepsOfTen) {
    text += fmt::format("  {:<8}  {}\n", privacy::DeltaText(pairs[i].delta),
                        privacy::EpsilonText(pairs[i].epsilon, privacy::kFineDecimals));
  }
  return text;
}

Json PairsJson(const std::vector<PrivacyPair>& pairs) {
  Json all = Json::array();
  for (const PrivacyPair& pair : pairs) {
    all.push_back({{"delta", pair.delta}, {"epsilon", FigureToJson(pair.epsilon)}});
  }
  return all;
}

// The meaning of all figures, whatever their delta.
Json MeaningOfAll(const AccountOptions& o) {
  Json meaning = Meaning(At(o, privacy::kMostSoughtDelta));
  meaning.erase("delta");
  meaning.erase("delta_note");
  meaning["accountant"] = o.accountant.name();
  return meaning;
}

}  // namespace

void RunDelta(const AccountOptions& o) {
  const double target = TargetOf(o);
  const double delta = privacy::DeltaFor(EpsilonsOf(o), target);
  Json json = MeaningOfAll(o);
  json["target_epsilon"] = target;
  json["delta"] = delta;
  if (delta == 1) {
    json["is_upper_bound"] = true;
    const std::string text = fmt::format(
        "delta 1 at epsilon {}: no smaller delta is proved for these rounds; add noise or take "
        "fewer rounds\n",
        target);
    return PrintResults(o.json, text + MeaningText(o), json);
  }
  const AccountOptions there = At(o, delta);
  const Answer answer = AnswerBy(there, o.accountant);
  AddAnswer(answer, json);
  const std::string text =
      fmt::format("delta {} at epsilon {}{}\n", privacy::DeltaText(delta), target,
                  !IsUpperBound(o)                      ? ""
                  : delta == privacy::kLeastSoughtDelta ? ", or smaller: no more are tried"
                                                        : ", an upper bound");
  PrintResults(o.json, text + AnswerText(there, answer), json);
}

void RunProfile(const AccountOptions& o) {
  if (!IsUpperBound(o)) {
    throw std::invalid_argument(fmt::format(
        "accountant is {}; with sampling its figures are no bounds, so it has no curve; name "
        "another accountant, or leave --accountant out",
        o.accountant.name()));
  }
  const std::vector<Output> outputs = {
      {"--epsilon-csv", o.epsilon_csv}, {"--trade-off-csv", o.trade_off_csv}, JsonOutput(o.json)};
  RequireOutputs(outputs);
  const std::vector<PrivacyPair> pairs =
      PairsOf(o.is_fleet() ? EpsilonsOfOneFleet(o) : EpsilonsOf(o));
  const KnownMu known = MuOf(At(o, privacy::kMostSoughtDelta));
  WriteOutput(outputs[0], EpsilonCsv(pairs));
  if (!o.trade_off_csv.empty()) WriteOutput(outputs[1], TradeOffCsv({pairs, known.mu}));
  Json json = MeaningOfAll(o);
  json["mu"] = known.mu ? Json(*known.mu) : Json(nullptr);
  json["mu_is_exact"] = known.is_exact;
  json["profile"] = PairsJson(pairs);
  PrintResults(o.json, MuText(o, known) + PairsText(pairs) + MeaningText(o), json);
}

}  // namespace sotto::server
