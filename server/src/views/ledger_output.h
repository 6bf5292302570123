// Entries of a ledger as JSON, for `sotto account ledger` and the results of `sotto serve`. Part of
// sotto::server/views.
//
// Pure functions, safe from any thread.
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "plans/claim.h"
#include "round/round_figures.h"
#include "store/ledger.h"

namespace sotto::server {

// The claims that one line names, the headline first.
struct Figure {
  privacy::Claim headline;
  std::vector<privacy::Claim> claims;
  bool seeded = false;

  // Infinite without a claim against the network.
  double epsilon_network() const;
};

Figure FigureOf(const std::vector<privacy::Claim>& claims, bool seeded);

// Adds the fields of a figure: {"epsilon", "epsilon_network", "delta", "adjacency", ...}.
void AddFigure(const Figure& figure, nlohmann::ordered_json& json);

// A release with its figure and its claims.
nlohmann::ordered_json ReleaseToJson(const LedgerEntry& entry, Audience audience);

// Why the job opens no attempt: {"kind", "reason", "since"}; null: it was not halted, or something
// has changed. For the operator: it may count devices.
nlohmann::ordered_json HaltToJson(const JobLedger& ledger);

// Evaluations on the operator's test set, by round; see EvaluationToJson().
nlohmann::ordered_json EvaluationsToJson(const JobLedger& ledger);

}  // namespace sotto::server
