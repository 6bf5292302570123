// A claim: one privacy figure together with everything that it means.
//
// A claim says: given `assumptions`, for neighbouring fleets as `adjacency` defines them, the
// output that `adversary` sees (`view`) is (epsilon, delta)-differentially private. A figure never
// travels without its claim. A statement (statement.h) is a list of claims. The JSON output and the
// ledger have the same names. A name is never changed once a ledger contains it. Pure values and
// functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accounting/types.h"

namespace sotto::privacy {

// The party that tries to learn something about a device's data.
enum class Adversary {
  kPublic,   // everyone who gets the released models, other devices included
  kNetwork,  // kPublic, and an observer of the network who can also make rounds fail
  kServer,   // the server, and everyone to whom it tells all it knows
  kWatcher,  // kPublic, and an observer of the network who only watches
};

// The output that the adversary sees.
enum class View {
  kReleases,                 // every released model, but not the participants
  kReleasesAndParticipants,  // every released model, and the uploading devices of each round
  kEveryUpdate,              // every update of a device: one in every attempt, at most K of passes
  kOneUpdate,                // one update of a device
  kPublications,             // without a server: every publication, who published it and when
};

// The conditions beside the mathematics under which a figure holds. PRIVACY.md discusses each.
enum class Assumption {
  kServerFollowsProtocol,
  kParticipationIsSecret,
  kReportingIndependentOfData,
  kAvailabilityIndependentOfOwnData,
  kOthersReportIndependently,
  kFailuresIndependentOfDraws,
  kLengthsAndTimesTellNothing,
  kTimesTellNothing,
  kUpdatesAsRecorded,
  kPrivateNoiseIsSecret,
  kRandomBitsAreUniform,
  kPolicyInputsArePublic,
  kCopiesAsCounted,
  kStoreIsNewest,
  kStopFixedBeforehand,
  kNoiseIsIdeal,
};

const char* Name(Adversary adversary);    // "public", "network", "server", "watcher"
const char* Name(View view);              // "releases", "releases-and-participants", ...
const char* Name(Assumption assumption);  // "server-follows-protocol", ...
const char* Text(Assumption assumption);  // one sentence

// The value that has this name. Each throws std::invalid_argument for any other name.
Adversary AdversaryByName(std::string_view name);
View ViewByName(std::string_view name);
Assumption AssumptionByName(std::string_view name);

struct EpsilonAtDelta {
  double delta = 0.0;
  double epsilon = 0.0;  // upper bound; may be +infinity
};

struct Claim {
  Adversary adversary = Adversary::kPublic;
  View view = View::kReleases;
  Unit unit = Unit::kDevice;
  Adjacency adjacency = Adjacency::kReplaceOne;
  // L2 sensitivity of the view before noise is added, in clipping bounds: 1 or 2. Without a server:
  // in the largest effect of one unit, 2.
  double sensitivity = 2.0;
  int64_t colluders = 0;  // participants that tell the adversary their noise; >= 0
  TrustMode trust_mode = TrustMode::kTrustedServer;
  // Upper bound; +infinity: no finite figure can be stated at this delta.
  double epsilon = std::numeric_limits<double>::infinity();
  double delta = 0.0;  // in [0, 1); 0 only if nothing is released
  // The releases in the view are exactly mu-GDP (accounting/gdp.h); epsilon has the encoder's terms
  // besides. Absent: no Gaussian measurement is as good as the view.
  std::optional<double> mu;
  // Of a claim without mu: its epsilon at other deltas, where somebody asked (AddPairs()).
  std::vector<EpsilonAtDelta> pairs;
  // Upper bound, in [1/2, 1], on how often the best attacker is right that guesses, at even odds,
  // which of two neighbouring fleets it sees. Absent in claims that a store returns.
  std::optional<double> attacker_right;
  // Of kPasses: K; 0 otherwise. And the epsilon at the same delta between the fleet and the one in
  // which a device had added nothing wherever it was asked: another adjacency, so it is never
  // printed without epsilon. It is not the epsilon of leaving the device out (turns.h, lemma 11).
  int64_t participations = 0;
  std::optional<double> zero_out_epsilon;
  std::string accountant;               // the method behind epsilon: AccountedEpsilon::winner
  std::vector<Assumption> assumptions;  // in the order of the enumeration, none twice
};

// Inserts the assumption in the order of the enumeration, unless the claim has it.
void Assume(Assumption assumption, Claim* claim);

// One figure for the devices of several jobs, or the reason why there is none.
struct CombinedClaim {
  std::optional<Claim> claim;
  std::string refusal;  // names the field in which the claims differ, and two of its values
};

// Combines the claims of jobs that have no device in common, so one claim covers each device.
// Epsilon and delta are the largest ones, and so are the figures beside them that all claims have.
// The result lists the accountants and assumptions of all claims. Jobs with common devices are
// composed instead, see Account(). Refuses claims that differ in adversary, view, unit, adjacency,
// colluders or trust mode, and an empty list.
CombinedClaim CombineClaims(const std::vector<Claim>& claims);

}  // namespace sotto::privacy
