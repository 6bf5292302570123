#include "plans/claim_kinds.h"

#include <algorithm>

#include "accounting/gdp.h"
#include "plans/adaptivity.h"
#include "plans/private_noise.h"

namespace sotto::privacy {
namespace {

Composition AsReleased(Composition composition) { return composition; }

Accountant AsItIs(Accountant accountant) { return accountant; }
Accountant KnowingDraws(Accountant accountant) { return accountant.WithKnownDraws(); }

// What an adversary sees of a composition, and the accountants for that.
struct Seen {
  Composition (*of)(Composition);
  Accountant (*accountant)(Accountant);
  Accountant (*filter)(const std::vector<GaussianRounds>& rounds, double delta);
};

Guarantee OfComposition(const Disclosure& all, const Seen& seen) {
  const Composition composition = seen.of(all.releases);
  if (composition.rounds.empty()) return {};
  Accountant accountant = seen.accountant(all.plan.accountant);
  const bool is_passes = all.plan.sampling == Sampling::kPasses;  // composition.h, lemma 12
  if (!is_passes && IsAdaptive(all.rounds, all.before, CountReleases)) {
    const Plan& first = FirstJob(all.before, CountReleases)->plan;
    accountant = seen.filter(seen.of(ComposeReleases(first, first.rounds, {})).rounds, first.delta);
  }
  return StateGuarantee(composition.rounds, all.plan.delta, composition.deviations, accountant);
}

Guarantee OfReleases(const Disclosure& all) {
  return OfComposition(all, {AsReleased, AsItIs, FilterFor});
}

Guarantee OfReleasesAndParticipants(const Disclosure& all) {
  return OfComposition(all, {WithDrawsKnown, AsItIs, FilterFor});
}

Guarantee OfWatchedReleases(const Disclosure& all) {
  return OfComposition(all, {WithDrawsWatched, KnowingDraws, FilterWithKnownDraws});
}

// Under kPasses each attempt is sealed when it begins, so a device sends at most K updates: their
// limit is the figure (turns.h, lemma 6).
Guarantee OfEveryUpdate(const Disclosure& all) {
  const bool is_limit = all.plan.sampling == Sampling::kPasses && all.updates > 0;
  const int64_t updates = is_limit ? all.plan.participations : all.updates;
  return GuaranteeAgainstServer(all.plan, updates, all.before);
}

Guarantee OfOneUpdate(const Disclosure& all) { return GuaranteeAgainstServer(all.plan, 1); }

// True if the figures of this plan count every device in every round.
bool KnowsAll(const Plan& plan) {
  return plan.participants_known || Accounted(plan.sampling) == Sampling::kNone;
}

void Withdraw(Assumption assumption, Claim* claim) {
  std::vector<Assumption>& all = claim->assumptions;
  all.erase(std::remove(all.begin(), all.end(), assumption), all.end());
}

// All updates that the observer saw have a length that depends on no data.
bool HasOneLength(const Disclosure& all) {
  return all.plan.too_long > 0 &&
         std::all_of(all.before.begin(), all.before.end(), [](const SpentRounds& job) {
           return job.plan.too_long > 0 || std::max(job.rounds, job.updates) == 0;
         });
}

// Lengths are part of what the claim covers; times are not.
void AdaptToOneLength(Claim* claim) {
  std::vector<Assumption>& all = claim->assumptions;
  std::replace(all.begin(), all.end(), Assumption::kLengthsAndTimesTellNothing,
               Assumption::kTimesTellNothing);
}

// The conditions (A) and (D) of turns.h, for this view.
void AdaptToPasses(const Plan& plan, Claim* claim) {
  Withdraw(Assumption::kParticipationIsSecret, claim);
  Withdraw(Assumption::kReportingIndependentOfData, claim);
  Assume(Assumption::kOthersReportIndependently, claim);
  const bool is_fixed = plan.order == Order::kFixed && claim->view == View::kReleases;
  if (!is_fixed) Assume(Assumption::kAvailabilityIndependentOfOwnData, claim);
  const bool times_tell = plan.participants_known && !plan.timed_reports;
  if (times_tell && claim->view == View::kReleases) Assume(Assumption::kTimesTellNothing, claim);
}

// See MakeClaim().
void AdaptToKnownParticipants(const Disclosure& disclosure, Claim* claim) {
  std::vector<Assumption>& all = claim->assumptions;
  const auto secret = std::find(all.begin(), all.end(), Assumption::kParticipationIsSecret);
  if (secret == all.end()) return;
  bool some_known = disclosure.plan.participants_known;
  bool all_known = KnowsAll(disclosure.plan);
  for (const SpentRounds& job : disclosure.before) {
    if (job.rounds == 0) continue;
    some_known = some_known || job.plan.participants_known;
    all_known = all_known && KnowsAll(job.plan);
  }
  if (all_known) all.erase(secret);
  if (some_known) Assume(Assumption::kTimesTellNothing, claim);
}

// How often an attacker is right at most who sees this and knows every draw.
double RightKnowingDraws(const Composition& composition) {
  return AttackerRight(UnsampledMu(composition.unsampled), composition.deviations);
}

// The figures beside the epsilon of a claim on releases.
void AddFiguresOfReleases(const Disclosure& disclosure, Composition (*seen)(Composition),
                          Claim* claim) {
  const Plan& plan = disclosure.plan;
  Composition composition = seen(disclosure.releases);
  claim->attacker_right = std::min(RightKnowingDraws(composition), *claim->attacker_right);
  if (IsUnsampled(composition.rounds)) claim->mu = UnsampledMu(composition.rounds);
  if (plan.sampling != Sampling::kPasses) return;
  claim->participations = plan.participations;
  for (const SpentRounds& job : disclosure.before) {
    const int64_t most = job.plan.ChargedRounds(job.rounds);
    claim->participations += std::min(most, job.turns.value_or(most));
  }
  claim->participations = std::min(claim->participations, kUnknownTurns);
  for (GaussianRounds& group : composition.rounds) group.noise_multiplier *= 2;
  claim->zero_out_epsilon =
      composition.rounds.empty()
          ? 0.0
          : StateGuarantee(composition.rounds, plan.delta, composition.deviations, plan.accountant)
                .epsilon;
}

Adjacency AlwaysReplaceOne(Sampling /*sampling*/) { return Adjacency::kReplaceOne; }

}  // namespace

bool ClaimKind::ExistsIn(const Plan& plan) const {
  return (!only_in || *only_in == plan.Trust()) && !(only_sampled && KnowsAll(plan));
}

const std::vector<ClaimKind>& ClaimKinds() {
  using A = Assumption;
  static const std::vector<ClaimKind> kinds = {
      {Adversary::kPublic,
       View::kReleases,
       "epsilon",
       "against a person who sees the released models",
       std::nullopt,
       false,
       false,
       PairedAdjacency,
       {A::kServerFollowsProtocol, A::kParticipationIsSecret, A::kReportingIndependentOfData,
        A::kRandomBitsAreUniform},
       OfReleases},
      {Adversary::kNetwork,
       View::kReleasesAndParticipants,
       "epsilon_network",
       "against an observer of uploads who can make rounds fail",
       std::nullopt,
       false,
       false,
       PairedAdjacency,
       {A::kServerFollowsProtocol, A::kReportingIndependentOfData, A::kLengthsAndTimesTellNothing,
        A::kRandomBitsAreUniform},
       OfReleasesAndParticipants},
      {Adversary::kWatcher,
       View::kReleasesAndParticipants,
       "epsilon_watcher",
       "against an observer who only watches the uploads",
       std::nullopt,
       true,
       false,
       PairedAdjacency,
       {A::kServerFollowsProtocol, A::kReportingIndependentOfData, A::kFailuresIndependentOfDraws,
        A::kLengthsAndTimesTellNothing, A::kRandomBitsAreUniform},
       OfWatchedReleases},
      {Adversary::kServer,
       View::kEveryUpdate,
       "epsilon_server",
       "against the server for all updates of one device",
       TrustMode::kPrivateNoise,
       false,
       true,
       AlwaysReplaceOne,
       {A::kReportingIndependentOfData, A::kTimesTellNothing, A::kUpdatesAsRecorded,
        A::kPrivateNoiseIsSecret, A::kRandomBitsAreUniform},
       OfEveryUpdate},
      {Adversary::kServer,
       View::kOneUpdate,
       "epsilon_server_update",
       "against the server for one update",
       TrustMode::kPrivateNoise,
       false,
       false,
       AlwaysReplaceOne,
       {A::kReportingIndependentOfData, A::kTimesTellNothing, A::kPrivateNoiseIsSecret,
        A::kRandomBitsAreUniform},
       OfOneUpdate},
  };
  return kinds;
}

const ClaimKind* FindKind(Adversary adversary, View view) {
  const std::vector<ClaimKind>& kinds = ClaimKinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(), [&](const ClaimKind& k) {
    return k.adversary == adversary && k.view == view;
  });
  return kind == kinds.end() ? nullptr : &*kind;
}

const Claim* FindClaim(const std::vector<Claim>& claims, const ClaimKind& kind) {
  const auto claim = std::find_if(claims.begin(), claims.end(), [&](const Claim& c) {
    return c.adversary == kind.adversary && c.view == kind.view;
  });
  return claim == claims.end() ? nullptr : &*claim;
}

Claim MakeClaim(const ClaimKind& kind, const Disclosure& disclosure, const Guarantee& guarantee) {
  const Plan& plan = disclosure.plan;
  Claim claim;
  claim.adversary = kind.adversary;
  claim.view = kind.view;
  claim.adjacency = kind.adjacency(plan.sampling);
  claim.sensitivity = SensitivityFactor(claim.adjacency);
  claim.colluders = plan.colluders;
  claim.trust_mode = plan.Trust();
  claim.epsilon = guarantee.epsilon;
  claim.delta = plan.delta;
  claim.accountant = guarantee.gaussian.winner;
  claim.attacker_right = AttackerRight(claim.epsilon, claim.delta);
  if (kind.view == View::kReleases) AddFiguresOfReleases(disclosure, AsReleased, &claim);
  if (kind.adversary == Adversary::kNetwork) {
    AddFiguresOfReleases(disclosure, WithDrawsKnown, &claim);
  }
  if (kind.adversary == Adversary::kWatcher) {  // sees no more than kNetwork
    claim.attacker_right =
        std::min(RightKnowingDraws(WithDrawsKnown(disclosure.releases)), *claim.attacker_right);
  }
  claim.assumptions = kind.assumptions;
  if (HasOneLength(disclosure)) AdaptToOneLength(&claim);
  const bool is_passes = plan.sampling == Sampling::kPasses;
  if (is_passes) {
    AdaptToPasses(plan, &claim);
  } else {
    AdaptToKnownParticipants(disclosure, &claim);
  }
  const bool is_limit = is_passes && FirstJob(disclosure.before, CountUpdates) == nullptr;
  if (kind.view != View::kOneUpdate && !is_limit &&
      !IsOneWholePlan(plan, disclosure.rounds, disclosure.before)) {
    Assume(Assumption::kStopFixedBeforehand, &claim);
  }
  return claim;
}

}  // namespace sotto::privacy
