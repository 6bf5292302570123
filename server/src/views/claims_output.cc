#include "views/claims_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "plans/claim_kinds.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

Json ToJson(const privacy::Claim& claim) {
  Json assumptions = Json::array();
  for (const privacy::Assumption assumption : claim.assumptions) {
    assumptions.push_back(privacy::Name(assumption));
  }
  return {{"adversary", privacy::Name(claim.adversary)},
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
}

std::string Against(const privacy::Claim& claim) {
  const privacy::ClaimKind* kind = privacy::FindKind(claim.adversary, claim.view);
  if (kind != nullptr) return kind->against;
  return fmt::format("against {} that sees {}", privacy::Name(claim.adversary),
                     privacy::Name(claim.view));
}

}  // namespace

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

std::vector<std::string> DescribeOtherClaims(const std::vector<privacy::Claim>& claims,
                                             int decimals) {
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
