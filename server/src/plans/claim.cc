#include "plans/claim.h"

#include <algorithm>

#include "base/names.h"

namespace sotto::privacy {
namespace {

constexpr Named<Adversary> kAdversaries[] = {
    {Adversary::kPublic, "public"},
    {Adversary::kNetwork, "network"},
    {Adversary::kServer, "server"},
    {Adversary::kWatcher, "watcher"},
};

constexpr Named<View> kViews[] = {
    {View::kReleases, "releases"},
    {View::kReleasesAndParticipants, "releases-and-participants"},
    {View::kEveryUpdate, "every-update"},
    {View::kOneUpdate, "one-update"},
    {View::kPublications, "publications"},
};

struct NamedAssumption {
  Assumption value;
  const char* name;
  const char* text;
};

constexpr NamedAssumption kAssumptions[] = {
    {Assumption::kServerFollowsProtocol, "server-follows-protocol",
     "The server draws cohorts, tops up and divides as planned, and tells nobody the devices' "
     "noise."},
    {Assumption::kParticipationIsSecret, "participation-is-secret",
     "The adversary does not know who was drawn for which round, nor how many of them reported."},
    {Assumption::kReportingIndependentOfData, "reporting-independent-of-data",
     "Whether a drawn device reports does not depend on its data."},
    {Assumption::kAvailabilityIndependentOfOwnData, "availability-independent-of-own-data",
     "Whether and when a device is connected, and whether it reports, does not depend on its own "
     "data."},
    {Assumption::kOthersReportIndependently, "others-report-independently",
     "Whether other devices report does not depend on this device's data, as it would behind a "
     "full gateway."},
    {Assumption::kFailuresIndependentOfDraws, "failures-independent-of-draws",
     "Whether a round fails and is drawn anew does not depend on who was drawn for it."},
    {Assumption::kLengthsAndTimesTellNothing, "lengths-and-times-tell-nothing",
     "Lengths and times of messages do not depend on the devices' data."},
    {Assumption::kTimesTellNothing, "times-tell-nothing",
     "Times of messages do not depend on the devices' data."},
    {Assumption::kUpdatesAsRecorded, "updates-as-recorded",
     "No device sends more updates than the server's store records; a device that limits them "
     "itself, with --max-private-updates, need not trust the store."},
    {Assumption::kPrivateNoiseIsSecret, "private-noise-is-secret",
     "Only the device itself knows the noise that it adds to its messages."},
    {Assumption::kRandomBitsAreUniform, "random-bits-are-uniform",
     "Keys, entropy and the ChaCha20 keystream are as good as independent uniform bits."},
    {Assumption::kPolicyInputsArePublic, "policy-inputs-are-public",
     "Public numbers, such as a node's number of samples, and draws that no data enter decide "
     "when the node publishes."},
    {Assumption::kCopiesAsCounted, "copies-as-counted",
     "Each sample lies once on a node, and on no more nodes than the figure counts."},
    {Assumption::kStoreIsNewest, "store-is-newest",
     "No node's store is lost, shared with another node or replaced by an older copy."},
    {Assumption::kStopFixedBeforehand, "stop-fixed-beforehand",
     "When to stop, or a limit that is not exceeded, was fixed before any model was released."},
    {Assumption::kNoiseIsIdeal, "noise-is-ideal",
     "The noise is exactly Gaussian; no certificate bounds its distance from the Gaussian."},
};

// The fields that claims must have in common to be combined.
struct Field {
  const char* name;
  std::string (*value)(const Claim& claim);
};

constexpr Field kCommonFields[] = {
    {"adversary", [](const Claim& c) { return std::string(Name(c.adversary)); }},
    {"view", [](const Claim& c) { return std::string(Name(c.view)); }},
    {"unit", [](const Claim& c) { return std::string(Name(c.unit)); }},
    {"adjacency", [](const Claim& c) { return std::string(Name(c.adjacency)); }},
    {"colluders", [](const Claim& c) { return std::to_string(c.colluders); }},
    {"trust mode", [](const Claim& c) { return std::string(Name(c.trust_mode)); }},
};

// The refusal for two claims; empty if they can be combined.
std::string Difference(const Claim& a, const Claim& b) {
  for (const Field& field : kCommonFields) {
    if (field.value(a) == field.value(b)) continue;
    return std::string("the claims differ in ") + field.name + ": " + field.value(a) + " and " +
           field.value(b);
  }
  return "";
}

// The larger one of two figures, absent if one of them is.
std::optional<double> Larger(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::max(a, b) : std::nullopt;
}

// The larger epsilon at each delta; none if the deltas differ.
std::vector<EpsilonAtDelta> Larger(std::vector<EpsilonAtDelta> a,
                                   const std::vector<EpsilonAtDelta>& b) {
  if (a.size() != b.size()) return {};
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].delta != b[i].delta) return {};
    a[i].epsilon = std::max(a[i].epsilon, b[i].epsilon);
  }
  return a;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string joined;
  for (const std::string& name : names) joined += (joined.empty() ? "" : ", ") + name;
  return joined;
}

}  // namespace

const char* Name(Adversary adversary) { return NameIn(kAdversaries, adversary); }
const char* Name(View view) { return NameIn(kViews, view); }
const char* Name(Assumption assumption) { return NameIn(kAssumptions, assumption); }

const char* Text(Assumption assumption) {
  const auto row = std::find_if(std::begin(kAssumptions), std::end(kAssumptions),
                                [&](const NamedAssumption& a) { return a.value == assumption; });
  return row == std::end(kAssumptions) ? "" : row->text;
}

Adversary AdversaryByName(std::string_view name) {
  return ValueIn(kAdversaries, "adversary", name);
}
View ViewByName(std::string_view name) { return ValueIn(kViews, "view", name); }
Assumption AssumptionByName(std::string_view name) {
  return ValueIn(kAssumptions, "assumption", name);
}

void Assume(Assumption assumption, Claim* claim) {
  std::vector<Assumption>& all = claim->assumptions;
  const auto place = std::lower_bound(all.begin(), all.end(), assumption);
  if (place == all.end() || *place != assumption) all.insert(place, assumption);
}

CombinedClaim CombineClaims(const std::vector<Claim>& claims) {
  if (claims.empty()) return {std::nullopt, "there is no claim to combine"};
  Claim all = claims.front();
  std::vector<std::string> accountants;
  for (const Claim& claim : claims) {
    const std::string difference = Difference(all, claim);
    if (!difference.empty()) return {std::nullopt, difference};
    all.epsilon = std::max(all.epsilon, claim.epsilon);
    all.delta = std::max(all.delta, claim.delta);
    all.sensitivity = std::max(all.sensitivity, claim.sensitivity);
    all.pairs = Larger(all.pairs, claim.pairs);
    all.mu = Larger(all.mu, claim.mu);
    all.attacker_right = Larger(all.attacker_right, claim.attacker_right);
    all.zero_out_epsilon = Larger(all.zero_out_epsilon, claim.zero_out_epsilon);
    const bool both_limited = all.participations > 0 && claim.participations > 0;
    all.participations = both_limited ? std::max(all.participations, claim.participations) : 0;
    for (const Assumption assumption : claim.assumptions) Assume(assumption, &all);
    if (std::find(accountants.begin(), accountants.end(), claim.accountant) == accountants.end()) {
      accountants.push_back(claim.accountant);
    }
  }
  all.accountant = Joined(accountants);
  return {all, ""};
}

}  // namespace sotto::privacy
