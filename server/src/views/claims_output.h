// Claims as text for people and as JSON for programs. All output of claims is made here. Pure
// functions, safe from any thread. Part of sotto::server/views.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "accounting/figures.h"
#include "plans/claim.h"

namespace sotto::server {

// All members of each claim. Enumerations appear by the names of privacy::Name(); an infinite
// epsilon is "Infinity".
nlohmann::ordered_json ClaimsToJson(const std::vector<privacy::Claim>& claims);

// Sets each claim's epsilon in the field that claim_kinds.h names for it.
void AddEpsilons(const std::vector<privacy::Claim>& claims, nlohmann::ordered_json& json);

// Sets these fields of all kinds of claim to null.
void AddNullEpsilons(nlohmann::ordered_json& json);

// Every claim but the first, the headline, each as "52.3 against whoever sees who uploads". A claim
// at another delta, or under another adjacency, than the headline's names it. Epsilons are rounded
// up.
//   decimals  decimals of an epsilon, at most 4
std::vector<std::string> DescribeOtherClaims(const std::vector<privacy::Claim>& claims,
                                             int decimals = privacy::kDecimals);

// The headline's epsilon and, in parentheses, the other claims: "6.000 (52.3 against ...)".
// Returns "infinite" without claims.
std::string DescribeClaims(const std::vector<privacy::Claim>& claims,
                           int decimals = privacy::kDecimals);

}  // namespace sotto::server
