#include "account/account_answer.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "accounting/gdp.h"
#include "plans/turns.h"
#include "spec/small_delta.h"
#include "views/before_start.h"
#include "views/claims_output.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;
using privacy::Accountant;

constexpr char kNotABound[] = "approximate, not an upper bound";

// What the delta leaves out of the fleet, or of the smallest one that the options allow.
std::string DeltaNoteOf(const AccountOptions& o) {
  constexpr double kMostDevices = 1e9;
  const bool has_rate = o.is_passes() || privacy::Accounted(o.sampling) != privacy::Sampling::kNone;
  const double rate = has_rate ? o.rate.value_or(1.0) : 1.0;
  if (!(rate > 0 && rate <= 1)) return "";
  const double devices = std::round(static_cast<double>(o.cohort.value_or(1)) / rate);
  const bool is_known = o.is_fleet() && (o.rate || !has_rate);
  return DeltaNote(DeltaOf(o), static_cast<int64_t>(std::clamp(devices, 1.0, kMostDevices)),
                   !is_known);
}

// The same as a line below a figure.
std::string DeltaLine(const AccountOptions& o) {
  const std::string note = DeltaNoteOf(o);
  return note.empty() ? "" : fmt::format("  note: {}\n", note);
}

}  // namespace

std::string MeaningText(const AccountOptions& o) {
  return fmt::format("  {} adjacency, {} sampling, unit {}, {}, {}\n",
                     privacy::Name(privacy::PairedAdjacency(o.sampling)), privacy::Name(o.sampling),
                     privacy::Name(privacy::Unit::kDevice),
                     privacy::Name(privacy::TrustMode::kTrustedServer),
                     o.is_fleet() ? fmt::format("colluders: {}, certificate charged", o.colluders)
                                  : "exact Gaussian noise, no colluders");
}

Answer OfFleet(const privacy::Plan& plan) {
  Answer answer;
  answer.fleet = privacy::Account(plan, plan.rounds);
  privacy::AddPairs(plan, plan.rounds, plan.rounds, {}, &*answer.fleet);
  answer.accounted_noise_multiplier = plan.AccountedNoiseMultiplier();
  // Of the headline's own figure, or of the stronger claim's that covers it.
  const double epsilon = answer.fleet->epsilon();
  const auto term =
      std::find_if(answer.fleet->terms.begin(), answer.fleet->terms.end(),
                   [&](const privacy::Guarantee& each) { return each.epsilon == epsilon; });
  answer.accounted = term->gaussian;
  answer.accounted.epsilon = epsilon;
  answer.accounted.epsilon_lower.reset();  // the lower bound holds for ideal rounds only
  answer.strength = answer.fleet->Headline();
  const bool is_passes = plan.sampling == privacy::Sampling::kPasses;
  const bool has_size = plan.devices > plan.cohort;  // --rate says it
  const double mu = answer.strength.mu.value_or(0.0);
  if (is_passes && has_size && mu > 0 && std::isfinite(mu)) {
    answer.signal_to_noise = privacy::SignalToNoise(mu, plan.devices, plan.cohort, plan.dimension);
    answer.devices_times_cohort = privacy::DevicesTimesCohortFor(1, mu, plan.dimension);
  }
  if (is_passes) answer.assumptions = DescribeAssumptions(plan, {}, {});
  return answer;
}

Answer OfRounds(const AccountOptions& o, const std::vector<privacy::GaussianRounds>& rounds,
                Accountant accountant) {
  const double delta = DeltaOf(o);
  Answer answer = {AccountFor(rounds, delta, accountant), {}, 0.0};
  if (!answer.accounted.is_upper_bound) return answer;
  answer.strength.epsilon = answer.accounted.epsilon;
  answer.strength.delta = delta;
  const double mu = privacy::UnsampledMu(rounds);
  answer.strength.attacker_right = std::min(privacy::AttackerRight(answer.accounted.epsilon, delta),
                                            privacy::AttackerRight(mu, privacy::Deviations()));
  if (privacy::IsUnsampled(rounds)) answer.strength.mu = mu;
  if (!o.is_passes()) return answer;
  answer.strength.zero_out_epsilon = privacy::GdpEpsilon(mu / 2, delta);
  for (const privacy::GaussianRounds& group : rounds) {
    answer.strength.participations += group.rounds;
  }
  return answer;
}

Answer AnswerBy(const AccountOptions& o, Accountant accountant) {
  if (!o.is_fleet()) {
    return OfRounds(o, RoundsOf(o, AccountQuestion::kEpsilon), accountant);
  }
  return OfFleet(NoisyFleetPlan(o, accountant));
}

Json Meaning(const AccountOptions& o) {
  Json meaning = {{"delta", DeltaOf(o)},
                  {"adjacency", privacy::Name(privacy::PairedAdjacency(o.sampling))},
                  {"sampling", privacy::Name(o.sampling)},
                  {"unit", privacy::Name(privacy::Unit::kDevice)},
                  {"trust_mode", privacy::Name(privacy::TrustMode::kTrustedServer)}};
  if (const std::string note = DeltaNoteOf(o); !note.empty()) meaning["delta_note"] = note;
  return meaning;
}

void AddAnswer(const Answer& answer, Json& json) {
  const privacy::AccountedEpsilon& accounted = answer.accounted;
  json["epsilon"] = FigureToJson(accounted.epsilon);
  if (accounted.epsilon_lower) json["epsilon_lower"] = FigureToJson(*accounted.epsilon_lower);
  json["winner"] = accounted.winner;
  json["is_upper_bound"] = accounted.is_upper_bound;
  json["numeric_error"] = FigureToJson(accounted.numeric_error);
  const privacy::Claim& strength = answer.strength;
  if (strength.mu) json["mu"] = FigureToJson(*strength.mu);
  if (strength.attacker_right) json["attacker_right"] = *strength.attacker_right;
  if (strength.participations > 0) json["participations"] = strength.participations;
  if (strength.zero_out_epsilon) {
    json["epsilon_zero_out"] = FigureToJson(*strength.zero_out_epsilon);
  }
  if (answer.signal_to_noise) json["signal_to_noise"] = *answer.signal_to_noise;
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
  for (const std::string& line : DescribeHowStrong(answer.strength, privacy::kFineDecimals)) {
    text += "\n  " + line;
  }
  if (answer.fleet) {
    for (const std::string& other :
         DescribeOtherClaims(answer.fleet->claims, privacy::kFineDecimals, Beside::kStrength)) {
      text += "\n  epsilon " + other;
    }
  }
  for (const std::string& line : answer.assumptions) text += "\n  " + line;
  if (answer.signal_to_noise) {
    text += fmt::format("\n  signal to noise of the whole run R {:.2g}", *answer.signal_to_noise);
    text += *answer.signal_to_noise >= 1
                ? ": the model can learn; R 1 is enough for most of it"
                : fmt::format(
                      "; R near 1 asks for devices x cohort of about {:.0f}, a smaller "
                      "model or a larger epsilon",
                      answer.devices_times_cohort);
  }
  return text + "\n" + DeltaLine(o) + MeaningText(o);
}

Json StartComparison(const AccountOptions& o) {
  Json comparison = Meaning(o);
  comparison["accountants"] = Json::array();
  return comparison;
}

std::string AddAccountants(const AccountOptions& o, Json* comparison) {
  std::string text = fmt::format("at delta {}\n{}{}", privacy::DeltaText(DeltaOf(o)), DeltaLine(o),
                                 MeaningText(o));
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
