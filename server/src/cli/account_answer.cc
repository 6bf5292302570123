#include "cli/account_answer.h"

#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/json_output.h"
#include "views/output_file.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using privacy::Accountant;

constexpr char kNotABound[] = "approximate, not an upper bound";

std::string MeaningText(const AccountOptions& o) {
  return fmt::format("  {} adjacency, {} sampling, unit {}, {}, {}\n",
                     privacy::Name(privacy::PairedAdjacency(o.sampling)), privacy::Name(o.sampling),
                     privacy::Name(privacy::Unit::kDevice),
                     privacy::Name(privacy::TrustMode::kTrustedServer),
                     o.is_fleet() ? fmt::format("colluders: {}, certificate charged", o.colluders)
                                  : "exact Gaussian noise, no colluders");
}

}  // namespace

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

Json Meaning(const AccountOptions& o) {
  return {{"delta", DeltaOf(o)},
          {"adjacency", privacy::Name(privacy::PairedAdjacency(o.sampling))},
          {"sampling", privacy::Name(o.sampling)},
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

std::string AnswerText(const AccountOptions& o, const Answer& answer) {
  const privacy::AccountedEpsilon& accounted = answer.accounted;
  std::string text = fmt::format("epsilon {} at delta {} by {}",
                                 privacy::EpsilonText(accounted.epsilon, privacy::kFineDecimals),
                                 privacy::DeltaText(DeltaOf(o)), accounted.winner);
  if (!accounted.is_upper_bound) text += fmt::format(": {}", kNotABound);
  if (accounted.epsilon_lower && std::isfinite(*accounted.epsilon_lower)) {
    text += fmt::format("; the true one is at least {}",
                        privacy::LowerBoundText(*accounted.epsilon_lower, privacy::kFineDecimals));
  }
  if (answer.fleet) {
    for (const std::string& other :
         DescribeOtherClaims(answer.fleet->claims, privacy::kFineDecimals)) {
      text += "; " + other;
    }
  }
  return text + "\n" + MeaningText(o);
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
                        privacy::EpsilonText(answer.accounted.epsilon, privacy::kFineDecimals),
                        answer.accounted.is_upper_bound
                            ? fmt::format("upper bound, by {}", answer.accounted.winner)
                            : kNotABound);
  }
  return text;
}

}  // namespace sotto::server
