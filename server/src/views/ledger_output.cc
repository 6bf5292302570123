#include "views/ledger_output.h"

#include <nlohmann/json.hpp>

#include "plans/claim_kinds.h"
#include "views/claims_output.h"
#include "views/figures.h"
#include "views/round_output.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

const privacy::ClaimKind& NetworkKind() {
  return *privacy::FindKind(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants);
}

// Stays as it is if nothing is claimed.
void AddEpsilon(const Figure& figure, const privacy::ClaimKind& kind, Json& json) {
  if (const privacy::Claim* claim = privacy::FindClaim(figure.claims, kind)) {
    json = FigureToJson(claim->epsilon);
  }
}

}  // namespace

double Figure::epsilon_network() const {
  const privacy::Claim* network = privacy::FindClaim(claims, NetworkKind());
  return network == nullptr ? privacy::Claim().epsilon : network->epsilon;
}

Figure FigureOf(const std::vector<privacy::Claim>& claims, bool seeded) {
  Figure figure;
  figure.seeded = seeded;
  figure.claims = claims;
  if (const auto* claim = privacy::FindClaim(claims, privacy::ClaimKinds().front())) {
    figure.headline = *claim;
  }
  return figure;
}

void AddFigure(const Figure& figure, Json& json) {
  json["epsilon"] = nullptr;
  json["epsilon_network"] = nullptr;
  AddEpsilon(figure, privacy::ClaimKinds().front(), json["epsilon"]);
  AddEpsilon(figure, NetworkKind(), json["epsilon_network"]);
  json["delta"] = figure.headline.delta;
  json["adjacency"] = privacy::Name(figure.headline.adjacency);
  json["unit"] = privacy::Name(figure.headline.unit);
  json["trust_mode"] = privacy::Name(figure.headline.trust_mode);
  json["colluders"] = figure.headline.colluders;
  json["seeded"] = figure.seeded;
}

Json ReleaseToJson(const LedgerEntry& entry, Audience audience) {
  Json json = {{"job", entry.job},
               {"round", entry.round + 1},
               {"attempts", entry.attempts},
               {"mechanism", entry.mechanism}};
  AddFigures(FiguresFor(audience, entry.plan, kLedger), {nullptr, &entry}, json);
  AddFigure(FigureOf(entry.claims, entry.seeded), json);
  json["claims"] = ClaimsToJson(entry.claims);
  return json;
}

Json HaltToJson(const JobLedger& ledger) {
  if (!ledger.halt) return nullptr;
  return {{"kind", Name(ledger.halt->kind)},
          {"reason", ledger.halt->reason},
          {"since", ledger.halt->since}};
}

Json EvaluationsToJson(const JobLedger& ledger) {
  Json all = Json::array();
  for (const StoredEvaluation& each : ledger.evaluations) {
    Json json = {{"round", each.round + 1}, {"data", each.data.name}, {"data_sha256", nullptr}};
    if (!each.data.sha256.empty()) json["data_sha256"] = each.data.sha256;
    SampleInfo info;
    info.class_names = each.data.class_names;
    json.update(EvaluationToJson(each.evaluation, info));
    all.push_back(json);
  }
  return all;
}

}  // namespace sotto::server
