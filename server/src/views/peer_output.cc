#include "views/peer_output.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "accounting/figures.h"
#include "views/claims_output.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kSeeded[] = "seeded: not private; whoever knows the seed knows the noise";
constexpr char kHead[] = "  privacy        ";
constexpr char kIndent[] = "                 ";

std::string Line(const std::string& text) { return kIndent + text + "\n"; }

std::string DescribeEpsilon(const privacy::Claim& claim) {
  return fmt::format("epsilon {} at delta {}: what the publications tell about {}",
                     privacy::EpsilonText(claim.epsilon), privacy::DeltaText(claim.delta),
                     privacy::PeerKind(claim.unit).about);
}

std::string DescribeMeaning(const privacy::PeerStatement& s) {
  const privacy::Claim& claim = s.claims.front();
  return fmt::format("{} adjacency; passes: {}; nodes that hold the same sample: at most {}; by {}",
                     privacy::Name(claim.adjacency), s.passes, s.copies, claim.accountant);
}

std::string DescribeNoise(const privacy::PeerStatement& s) {
  return fmt::format("noise {:.4g} in each parameter, sensitivity {:.4g} of one publication",
                     s.noise_q20 * 0x1p-20, s.sensitivity_q20 * 0x1p-20);
}

std::string DescribeAssumptions(const std::vector<privacy::Claim>& claims) {
  privacy::Claim all;
  for (const privacy::Claim& claim : claims) {
    for (const privacy::Assumption each : claim.assumptions) privacy::Assume(each, &all);
  }
  std::string text;
  for (const privacy::Assumption each : all.assumptions) {
    text += Line(std::string("- ") + privacy::Text(each));
  }
  return text;
}

std::string DescribeClaims(const privacy::PeerStatement& s) {
  std::string text;
  for (const privacy::Claim& claim : s.claims) {
    text += (text.empty() ? kHead : kIndent) + DescribeEpsilon(claim) + "\n";
  }
  text += Line(DescribeMeaning(s)) + Line(DescribeNoise(s));
  text += Line("against everybody together: other nodes, directory, relay, network and users, who");
  text += Line("see every publication, who published it and when. It assumes:");
  text += DescribeAssumptions(s.claims);
  return text + Line(fmt::format("continuous noise would have {}: for comparison, no claim",
                                 privacy::EpsilonText(s.continuous_epsilon)));
}

// The fields of the first claim that stand beside every epsilon; null without a claim.
void AddMeaning(const privacy::PeerStatement& s, Json& json) {
  const privacy::Claim* claim = s.claims.empty() ? nullptr : &s.claims.front();
  json["epsilon"] = claim ? Finite(claim->epsilon) : Json(nullptr);
  json["delta"] = claim ? Json(claim->delta) : Json(nullptr);
  json["unit"] = claim ? Json(privacy::Name(claim->unit)) : Json(nullptr);
  json["adjacency"] = claim ? Json(privacy::Name(claim->adjacency)) : Json(nullptr);
  json["trust_mode"] = claim ? Json(privacy::Name(claim->trust_mode)) : Json(nullptr);
  for (const privacy::PeerClaimKind& kind : privacy::PeerClaimKinds()) {
    json[kind.json_field] = nullptr;
  }
  for (const privacy::Claim& each : s.claims) {
    json[privacy::PeerKind(each.unit).json_field] = Finite(each.epsilon);
  }
}

}  // namespace

std::string DescribePeerPrivacy(const privacy::PeerStatement& statement, bool seeded) {
  std::string text = statement.claims.empty()
                         ? fmt::format("{}NO EPSILON\n{}", kHead, Line(statement.refusal))
                         : DescribeClaims(statement);
  text += Line("no party is asked to keep a secret; the directory learns who shares when");
  return seeded ? text + Line(kSeeded) : text;
}

Json PeerPrivacyToJson(const privacy::PeerStatement& statement, bool seeded) {
  const privacy::PeerStatement& s = statement;
  Json json;
  AddMeaning(s, json);
  json["private"] = !s.claims.empty() && !seeded;
  json["privacy_note"] = s.claims.empty() ? s.refusal : std::string(seeded ? kSeeded : "");
  json["seeded"] = seeded;
  json["nodes"] = s.nodes;
  json["copies"] = s.copies;
  json["passes"] = s.passes;
  json["releases"] = s.releases;
  const auto if_claimed = [&s](double value) {
    return s.claims.empty() ? Json(nullptr) : Finite(value);
  };
  json["sensitivity"] = if_claimed(s.sensitivity_q20 * 0x1p-20);
  json["noise_sigma"] = s.noise_q20 * 0x1p-20;
  json["noise_q20"] = s.noise_q20;
  json["release_rho"] = if_claimed(s.release_rho);
  json["rho"] = if_claimed(s.rho);
  json["continuous_epsilon"] = if_claimed(s.continuous_epsilon);
  json["claims"] = ClaimsToJson(s.claims);
  return json;
}

}  // namespace sotto::server
