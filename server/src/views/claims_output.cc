#include "views/claims_output.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "plans/claim_kinds.h"
#include "plans/turns.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const privacy::Claim& claim) {
  Json assumptions = Json::array();
  for (const privacy::Assumption assumption : claim.assumptions) {
    assumptions.push_back(privacy::Name(assumption));
  }
  Json json = {{"adversary", privacy::Name(claim.adversary)},
               {"view", privacy::Name(claim.view)},
               {"unit", privacy::Name(claim.unit)},
               {"adjacency", privacy::Name(claim.adjacency)},
               {"sensitivity", claim.sensitivity},
               {"colluders", claim.colluders},
               {"trust_mode", privacy::Name(claim.trust_mode)},
               {"epsilon", FigureToJson(claim.epsilon)},
               {"delta", claim.delta},
               {"accountant", claim.accountant},
               {"assumptions", assumptions}};
  if (claim.mu) json["mu"] = FigureToJson(*claim.mu);
  for (const privacy::EpsilonAtDelta& pair : claim.pairs) {
    json["pairs"].push_back({{"delta", pair.delta}, {"epsilon", FigureToJson(pair.epsilon)}});
  }
  if (claim.attacker_right) json["attacker_right"] = *claim.attacker_right;
  if (claim.participations > 0 && claim.participations < privacy::kUnknownTurns)
    json["participations"] = claim.participations;
  if (claim.zero_out_epsilon) json["epsilon_zero_out"] = FigureToJson(*claim.zero_out_epsilon);
  return json;
}

// See Beside::kStrength; empty if the claim holds none of it.
std::string BesideEpsilon(const privacy::Claim& claim, int decimals) {
  std::vector<std::string> parts;
  if (claim.attacker_right) parts.push_back("attacker right " + RightText(*claim.attacker_right));
  if (claim.mu) parts.push_back("mu " + privacy::EpsilonText(*claim.mu, decimals));
  if (!claim.pairs.empty()) parts.push_back(DescribePairs(claim, decimals));
  return parts.empty() ? "" : fmt::format(": {}", fmt::join(parts, ", "));
}

std::string Against(const privacy::Claim& claim) {
  const privacy::ClaimKind* kind = privacy::FindKind(claim.adversary, claim.view);
  if (kind != nullptr) return kind->against;
  return fmt::format("against {} that sees {}", privacy::Name(claim.adversary),
                     privacy::Name(claim.view));
}

}  // namespace

std::string RightText(double right) {
  return fmt::format("{} %", privacy::EpsilonText(std::min(100 * right, 100.0), 1));
}

Json ClaimsToJson(const std::vector<privacy::Claim>& claims) {
  Json json = Json::array();
  for (const privacy::Claim& claim : claims) json.push_back(ToJson(claim));
  return json;
}

void AddEpsilons(const std::vector<privacy::Claim>& claims, Json& json) {
  for (const privacy::Claim& claim : claims) {
    const privacy::ClaimKind* kind = privacy::FindKind(claim.adversary, claim.view);
    if (kind != nullptr) json[kind->json_field] = FigureToJson(claim.epsilon);
  }
}

void AddNullEpsilons(Json& json) {
  for (const privacy::ClaimKind& kind : privacy::ClaimKinds()) json[kind.json_field] = nullptr;
}

std::string DescribeStrength(const privacy::Claim& claim, int decimals) {
  std::vector<std::string> parts;
  const bool has_mu = claim.mu && std::isfinite(*claim.mu);
  if (std::isinf(claim.epsilon) && (has_mu || claim.attacker_right.value_or(1) < 1)) {
    parts.emplace_back(
        "no epsilon is proved at this delta: with so little noise the encoder's terms need more "
        "than "
        "that delta; the attacker's figure needs none");
  }
  if (claim.participations >= privacy::kUnknownTurns) {
    parts.emplace_back(
        "the store was recovered from an older copy, so the number of a device's rounds is "
        "unknown: "
        "its life epsilon bounds their cost");
  } else if (claim.participations > 0) {
    parts.push_back(fmt::format("each device takes part in at most {} {}", claim.participations,
                                claim.participations == 1 ? "round" : "rounds"));
  }
  if (claim.attacker_right) {
    const std::string mu =
        claim.mu ? fmt::format(" (mu {})", privacy::EpsilonText(*claim.mu, decimals)) : "";
    parts.push_back(fmt::format("the best attacker is right at most {} of the time{}",
                                RightText(*claim.attacker_right), mu));
  }
  if (claim.zero_out_epsilon && std::isfinite(*claim.zero_out_epsilon)) {
    parts.push_back(fmt::format(
        "{} against the same fleet in which this device had added nothing wherever it was asked",
        privacy::EpsilonText(*claim.zero_out_epsilon, decimals)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string DescribeOwners(const privacy::Plan& plan,
                           const std::vector<privacy::SpentRounds>& before,
                           const privacy::Owners& owners, int decimals) {
  if (plan.sampling != privacy::Sampling::kPasses) return "";
  const auto epsilon_of = [&](int64_t devices, bool may_share) {
    return privacy::OwnerEpsilon(plan, plan.rounds, before, devices, may_share);
  };
  if (std::isinf(epsilon_of(1, false))) return "";
  const auto text_of = [&](int64_t devices, bool may_share) {
    const double epsilon = epsilon_of(devices, may_share);
    return std::isinf(epsilon) ? "infinite (that delta has no room for the encoder's terms)"
                               : privacy::EpsilonText(epsilon, decimals);
  };
  const int64_t most = owners.most_devices;
  if (most == 0) {
    return fmt::format(
        "the unit is one device; two devices of one owner in the same cohorts have epsilon {} "
        "together; name their owner with `sotto keys owner`, and they never share a cohort: {}",
        text_of(2, true), text_of(2, false));
  }
  if (most == 1) return "the unit is one device, and no owner has two";
  std::string text = fmt::format(
      "the unit is one device; the {} devices of one owner, {}, have epsilon {} together", most,
      owners.may_have_shared ? "which shared cohorts before their owner was named, or may have"
                             : "never in one cohort",
      text_of(most, owners.may_have_shared));
  if (!owners.eligible_of.empty()) {
    const int64_t rounds =
        privacy::RoundsForOwners(owners.eligible_of, plan.participations, plan.cohort);
    if (rounds < plan.rounds) {
      text += fmt::format(
          "; at most {} of the {} rounds find a cohort of different owners, then the job ends",
          rounds, plan.rounds);
    }
  }
  return text;
}

std::string DescribePairs(const privacy::Claim& claim, int decimals) {
  std::string text;
  for (const privacy::EpsilonAtDelta& pair : claim.pairs) {
    text +=
        fmt::format("{}{} at delta {}", text.empty() ? "epsilon " : ", ",
                    privacy::EpsilonText(pair.epsilon, decimals), privacy::DeltaText(pair.delta));
  }
  return text;
}

std::vector<std::string> DescribeHowStrong(const privacy::Claim& claim, int decimals) {
  std::vector<std::string> lines;
  for (const std::string& line :
       {DescribeStrength(claim, decimals), DescribePairs(claim, decimals)})
    if (!line.empty()) lines.push_back(line);
  return lines;
}

std::vector<std::string> DescribeOtherClaims(const std::vector<privacy::Claim>& claims,
                                             int decimals, Beside beside) {
  std::vector<std::string> lines;
  for (size_t i = 1; i < claims.size(); ++i) {
    const privacy::Claim& claim = claims[i];
    std::string line =
        fmt::format("{} {}", privacy::EpsilonText(claim.epsilon, decimals), Against(claim));
    if (claim.delta != claims.front().delta)
      line += fmt::format(" at delta {}", privacy::DeltaText(claim.delta));
    if (claim.adjacency != claims.front().adjacency) {
      line += fmt::format(" under {} adjacency", privacy::Name(claim.adjacency));
    }
    if (beside == Beside::kStrength) line += BesideEpsilon(claim, decimals);
    lines.push_back(line);
  }
  return lines;
}

std::string DescribeClaims(const std::vector<privacy::Claim>& claims, int decimals) {
  if (claims.empty()) return "infinite";
  const std::string headline = privacy::EpsilonText(claims.front().epsilon, decimals);
  const std::vector<std::string> others = DescribeOtherClaims(claims, decimals);
  return others.empty() ? headline : fmt::format("{} ({})", headline, fmt::join(others, ", "));
}

}  // namespace sotto::server
