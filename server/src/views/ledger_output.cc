#include "views/ledger_output.h"

#include <nlohmann/json.hpp>

#include "plans/claim_kinds.h"
#include "views/claims_output.h"
#include "views/evaluation_output.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

using Json = nlohmann::ordered_json;

}  // namespace

const char* Name(Audience audience) {
  return audience == Audience::kPublic ? "public" : "operator";
}

double Figure::epsilon_network() const {
  const privacy::Claim* network = privacy::FindClaim(
      claims,
      *privacy::FindKind(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants));
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
  json["epsilon"] = Finite(figure.headline.epsilon);
  json["epsilon_network"] = Finite(figure.epsilon_network());
  json["delta"] = figure.headline.delta;
  json["adjacency"] = privacy::Name(figure.headline.adjacency);
  json["unit"] = privacy::Name(figure.headline.unit);
  json["trust_mode"] = privacy::Name(figure.headline.trust_mode);
  json["colluders"] = figure.headline.colluders;
  json["seeded"] = figure.seeded;
}

Json ReleaseToJson(const LedgerEntry& entry, Audience audience) {
  const privacy::Plan& plan = entry.plan;
  const Figure figure = FigureOf(entry.claims, entry.seeded);
  Json json = {{"job", entry.job},
               {"round", entry.round + 1},
               {"attempts", entry.attempts},
               {"mechanism", entry.mechanism},
               {"noise_sigma", plan.noise_sigma},
               {"clip_l2", plan.clip_l2},
               {"extra_scale", plan.clip_bit_scale},
               {"sampling", privacy::Name(plan.sampling)},
               {"devices", plan.devices},
               {"cohort", plan.cohort},
               {"sampling_rate", plan.devices == 0 ? Json(nullptr) : Json(plan.SamplingRate())},
               {"planned_reports", plan.planned_reports},
               {"reported", entry.reported},
               {"dimension", plan.dimension},
               {"certificate_eta", plan.certificate.eta},
               {"certificate_tau", plan.certificate.tau},
               {"certificate_range", plan.certificate.range},
               {"noise_multiplier", entry.noise_multiplier},
               {"accounted_noise_multiplier", entry.accounted_noise_multiplier},
               {"charged_rounds", entry.charged_rounds},
               {"earlier_rounds", entry.earlier_rounds},
               {"accountant", figure.headline.accountant},
               {"numeric_error", Finite(entry.numeric_error)}};
  if (audience == Audience::kPublic) json.erase("reported");
  AddFigure(figure, json);
  json["claims"] = ClaimsToJson(entry.claims);
  return json;
}

Json EvaluationsToJson(const JobLedger& ledger) {
  Json all = Json::array();
  for (const StoredEvaluation& each : ledger.evaluations) {
    Json json = {{"round", each.round + 1}, {"data", each.data}};
    json.update(EvaluationToJson(each.evaluation, {}));
    all.push_back(json);
  }
  return all;
}

}  // namespace sotto::server
