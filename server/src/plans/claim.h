// What is promised to whom: one privacy figure with everything that it means.
//
// A claim says: given `assumptions`, for neighbouring fleets as `adjacency` defines them, what
// `adversary` sees (`view`) is (epsilon, delta)-differentially private. A figure never travels
// without the claim that it belongs to. A statement (plan.h) is a list of claims. Pure values and
// functions, safe from any thread. The names are those of the JSON output and the ledger; a name,
// once written to a ledger, is never changed.
// Part of sotto::server/plans.
#ifndef SOTTO_PLANS_CLAIM_H_
#define SOTTO_PLANS_CLAIM_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/types.h"

namespace sotto::privacy {

// Who tries to learn something about a device's data.
enum class Adversary {
  kPublic,   // whoever gets the released models, other devices included
  kNetwork,  // the same, who also watches the network
  kServer,   // the server and whoever it tells all it knows
};

// What the adversary sees.
enum class View {
  kReleases,                 // every released model; not who took part
  kReleasesAndParticipants,  // every released model and who uploaded in which round
  kEveryUpdate,              // every update of a device that uploads in every attempt
  kOneUpdate,                // one update of a device
};

// What a figure rests on beside the mathematics. PRIVACY.md discusses each.
enum class Assumption {
  kServerFollowsProtocol,
  kParticipationIsSecret,
  kReportingIndependentOfData,
  kLengthsAndTimesTellNothing,
  kTimesTellNothing,
  kUpdatesAsRecorded,
  kPrivateNoiseIsSecret,
  kRandomBitsAreUniform,
  kNoiseIsIdeal,
};

const char* Name(Adversary adversary);    // "public", "network", "server"
const char* Name(View view);              // "releases", "releases-and-participants", ...
const char* Name(Assumption assumption);  // "server-follows-protocol", ...
const char* Text(Assumption assumption);  // one sentence

// The value that has this name. Each throws std::invalid_argument for any other name.
Adversary AdversaryByName(std::string_view name);
View ViewByName(std::string_view name);
Assumption AssumptionByName(std::string_view name);

struct Claim {
  Adversary adversary = Adversary::kPublic;
  View view = View::kReleases;
  Unit unit = Unit::kDevice;
  Adjacency adjacency = Adjacency::kReplaceOne;
  // L2 sensitivity of what is seen before its noise, in clipping bounds: 1 or 2.
  double sensitivity = 2.0;
  int64_t colluders = 0;  // participants that tell the adversary their noise; >= 0
  TrustMode trust_mode = TrustMode::kTrustedServer;
  // Upper bound; +infinity: no finite figure can be stated at this delta.
  double epsilon = std::numeric_limits<double>::infinity();
  double delta = 0.0;                   // in [0, 1); 0 only if nothing is released
  std::string accountant;               // what epsilon is by: AccountedEpsilon::winner
  std::vector<Assumption> assumptions;  // in the order of the enumeration, none twice
};

// Adds the assumption in its place, unless the claim has it.
void Assume(Assumption assumption, Claim* claim);

// One figure for devices of several jobs, or why there is none.
struct CombinedClaim {
  std::optional<Claim> claim;
  std::string refusal;  // names the field in which the claims differ, and two of its values
};

// Combines the claims of jobs that have no device in common, so that each device is covered by one
// of them: epsilon and delta are the largest, accountants and assumptions those of all. Jobs that
// do have devices in common are composed instead, see Account().
// Refuses claims that differ in adversary, view, unit, adjacency, colluders or trust mode, and an
// empty list.
CombinedClaim CombineClaims(const std::vector<Claim>& claims);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_CLAIM_H_
