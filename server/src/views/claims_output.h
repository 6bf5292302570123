// Claims as text for people and as JSON for programs. All output of claims is made here. Pure
// functions, safe from any thread. Part of sotto::server/views.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "accounting/figures.h"
#include "plans/claim.h"
#include "plans/statement.h"

namespace sotto::server {

// All members of each claim that it has. Enumerations appear by the names of privacy::Name(); an
// infinite epsilon is "Infinity".
nlohmann::ordered_json ClaimsToJson(const std::vector<privacy::Claim>& claims);

// Sets each claim's epsilon in the field that claim_kinds.h names for it.
void AddEpsilons(const std::vector<privacy::Claim>& claims, nlohmann::ordered_json& json);

// Sets these fields of all kinds of claim to null.
void AddNullEpsilons(nlohmann::ordered_json& json);

// "74.4 %", rounded up.
std::string RightText(double right);

// How strong a claim is, in words: "each device takes part in at most 4 rounds; the best attacker
// is right at most 74.4 % of the time (mu 1.310); 2.698 against the same fleet in which this device
// had added nothing wherever it was asked". First and last part stand in claims of passes only.
// Empty if the claim holds none of it. Figures are rounded up.
std::string DescribeStrength(const privacy::Claim& claim, int decimals = privacy::kDecimals);

// The unit of a plan of passes, and the figure of all the devices of one owner: "the unit is one
// device; the 2 devices of one owner, never in one cohort, have epsilon 9.098 together". Without
// owners it is the figure of two devices, and how to name owners. Empty for other samplings, and
// where the figure of one device is infinite. Epsilons are rounded up.
//   plan, before  as privacy::Account() takes them
std::string DescribeOwners(const privacy::Plan& plan,
                           const std::vector<privacy::SpentRounds>& before,
                           const privacy::Owners& owners, int decimals = privacy::kDecimals);

// The epsilons of a claim at other deltas: "epsilon 8.1 at delta 1e-05, 9.3 at delta 1e-06". Empty
// if there are none.
std::string DescribePairs(const privacy::Claim& claim, int decimals = privacy::kDecimals);

// DescribeStrength() and DescribePairs(), those that are not empty.
std::vector<std::string> DescribeHowStrong(const privacy::Claim& claim,
                                           int decimals = privacy::kDecimals);

// What stands beside an epsilon: nothing, or how strong the claim is: ": attacker right 99.8 %,
// epsilon 16.9 at delta 1e-05, 18.2 at delta 1e-06", with mu in place of the pairs where there is
// one.
enum class Beside { kNothing, kStrength };

// Every claim but the first, the headline, each as "15.6 against an observer who only watches the
// uploads". A claim at another delta, or under another adjacency, than the headline's names it.
// Epsilons are rounded up.
//   decimals  decimals of an epsilon, at most 4
std::vector<std::string> DescribeOtherClaims(const std::vector<privacy::Claim>& claims,
                                             int decimals = privacy::kDecimals,
                                             Beside beside = Beside::kNothing);

// The headline's epsilon and, in parentheses, the other claims: "6.000 (52.3 against ...)".
// Returns "infinite" without claims.
std::string DescribeClaims(const std::vector<privacy::Claim>& claims,
                           int decimals = privacy::kDecimals);

}  // namespace sotto::server
