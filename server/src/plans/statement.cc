#include "plans/statement.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "accounting/arguments.h"
#include "plans/claim_kinds.h"
#include "plans/composition.h"
#include "plans/turns.h"

namespace sotto::privacy {
namespace {

Disclosure DisclosureOf(const Plan& plan, int64_t rounds_released,
                        const std::vector<SpentRounds>& before) {
  plan.Validate();
  Require(rounds_released >= 0 && rounds_released <= plan.rounds, "rounds_released",
          rounds_released, "in [0, rounds]");
  for (const SpentRounds& job : before) {
    job.plan.Validate();
    Require(job.rounds >= 0, "earlier rounds", job.rounds, "at least 0");
  }
  return {plan, before, ComposeReleases(plan, rounds_released, before), rounds_released,
          rounds_released};
}

// Who sees less than the view of another claim.
bool SeesLess(const Claim& claim, const Claim& other) {
  const auto is = [](const Claim& c, Adversary adversary, View view) {
    return c.adversary == adversary && c.view == view;
  };
  const bool is_public = is(claim, Adversary::kPublic, View::kReleases);
  const bool is_watcher = is(claim, Adversary::kWatcher, View::kReleasesAndParticipants);
  const bool is_network = is(claim, Adversary::kNetwork, View::kReleasesAndParticipants);
  if (is(other, Adversary::kServer, View::kEveryUpdate)) {
    return is_public || is_watcher || is_network;
  }
  return is(other, Adversary::kNetwork, View::kReleasesAndParticipants) &&
         (is_public || is_watcher);
}

// Lemma. Let (epsilon, delta) hold against somebody under some assumptions. It then holds under the
// same ones, for the same neighbours, against people who see a function of that view and of
// randomness that depends on no data. Proof: post-processing. The released models are such a
// function of models and participants, and both are one of the updates of every attempt: the noise
// that the server adds depends on no data. Assumptions about lengths and times are not taken over:
// they say that lengths and times add nothing to a view, and a claim has its own of them.
// Where the figure depends on who was really drawn, the lemma holds for each outcome of the draws.
// Replace-one alone: two fleets of add/remove differ in their draws, too, and a claim that knows
// the draws compares the same ones.
// Remark. The figure against somebody who sees more is smaller where releases cost the encoder's
// terms and updates do not, or where rounds that were really drawn are counted.
void CoverByStronger(Statement* statement) {
  std::vector<Claim>& claims = statement->claims;
  for (size_t i = 0; i < claims.size(); ++i) {
    claims[i].epsilon = statement->terms[i].epsilon;
    claims[i].accountant = statement->terms[i].gaussian.winner;
  }
  for (Claim& claim : claims) {
    for (size_t i = 0; i < claims.size(); ++i) {
      const Claim& other = claims[i];
      const double epsilon = statement->terms[i].epsilon;
      const bool is_comparable = claim.adjacency == Adjacency::kReplaceOne &&
                                 other.adjacency == Adjacency::kReplaceOne &&
                                 SeesLess(claim, other);
      if (!is_comparable || !(epsilon < claim.epsilon)) continue;
      claim.epsilon = epsilon;
      claim.accountant = statement->terms[i].gaussian.winner;
      for (const Assumption assumption : other.assumptions) {
        const bool is_of_view = assumption == Assumption::kLengthsAndTimesTellNothing ||
                                assumption == Assumption::kTimesTellNothing;
        if (!is_of_view) Assume(assumption, &claim);
      }
    }
  }
}

}  // namespace

const Claim* Statement::Find(Adversary adversary, View view) const {
  const auto claim = std::find_if(claims.begin(), claims.end(), [&](const Claim& c) {
    return c.adversary == adversary && c.view == view;
  });
  return claim == claims.end() ? nullptr : &*claim;
}

double Statement::EpsilonOf(Adversary adversary, View view) const {
  const Claim* claim = Find(adversary, view);
  return claim == nullptr ? kInfinity : claim->epsilon;
}

Claim Statement::Headline() const { return claims.empty() ? Claim() : claims.front(); }

double Statement::numeric_error() const {
  return terms.empty() ? 0.0 : terms.front().gaussian.numeric_error;
}

Statement Account(const Plan& plan, int64_t rounds_released,
                  const std::vector<SpentRounds>& before) {
  const Disclosure disclosure = DisclosureOf(plan, rounds_released, before);
  Statement statement;
  statement.sampling = plan.sampling;
  statement.rounds = rounds_released;
  statement.earlier_rounds = CountRounds(before);
  const int64_t last = std::max<int64_t>(rounds_released, 1) - 1;
  statement.noise_multiplier = plan.NoiseMultiplier(last);
  statement.accounted_noise_multiplier = plan.AccountedNoiseMultiplier(last);
  statement.private_noise_multiplier = plan.private_noise_multiplier;

  for (const ClaimKind& kind : ClaimKinds()) {
    if (!kind.ExistsIn(plan)) continue;
    statement.terms.push_back(kind.guarantee(disclosure));
    statement.claims.push_back(MakeClaim(kind, disclosure, statement.terms.back()));
  }
  CoverByStronger(&statement);
  return statement;
}

double HeadlineEpsilon(const Plan& plan, int64_t rounds_released,
                       const std::vector<SpentRounds>& before) {
  return ClaimKinds().front().guarantee(DisclosureOf(plan, rounds_released, before)).epsilon;
}

// An owner has as many turns as its devices together. Where two of them share a cohort, their
// shares of the change of one noise add up.
double OwnerEpsilon(const Plan& plan, int64_t rounds_released,
                    const std::vector<SpentRounds>& before, int64_t devices,
                    bool may_share_cohorts) {
  Require(plan.sampling == Sampling::kPasses, "sampling", Name(plan.sampling), "passes");
  Composition all = DisclosureOf(plan, rounds_released, before).releases;
  if (all.rounds.empty()) return 0.0;
  const double factor = OwnerMu(1 + kArithmeticMargin, devices, may_share_cohorts);
  for (GaussianRounds& group : all.rounds) group.noise_multiplier /= factor;
  const auto count = static_cast<double>(devices);
  all.deviations.coordinates *= count;
  all.deviations.log_refusal += std::log(count);
  all.deviations.log_too_long += std::log(count);
  if (may_share_cohorts) all.deviations.shift *= count;
  return StateGuarantee(all.rounds, plan.delta, all.deviations, plan.accountant).epsilon;
}

void RestateUpdates(const Plan& plan, int64_t updates, const std::vector<SpentRounds>& before,
                    Statement* statement) {
  // The claims that count updates do not depend on the releases.
  const Disclosure disclosure = {plan, before, Composition(), statement->rounds, updates};
  for (size_t i = 0; i < statement->claims.size(); ++i) {
    Claim& claim = statement->claims[i];
    const ClaimKind* kind = FindKind(claim.adversary, claim.view);
    if (kind == nullptr || !kind->counts_updates) continue;
    statement->terms[i] = kind->guarantee(disclosure);
    claim = MakeClaim(*kind, disclosure, statement->terms[i]);
  }
  CoverByStronger(statement);
}

void AddPairs(const Plan& plan, int64_t rounds, int64_t updates,
              const std::vector<SpentRounds>& before, Statement* statement) {
  const auto has_mu = [](const Claim& claim) { return claim.mu.has_value(); };
  std::vector<Claim>& claims = statement->claims;
  if (std::all_of(claims.begin(), claims.end(), has_mu)) return;
  for (Claim& claim : claims) claim.pairs.clear();
  for (const double delta : kPairDeltas) {
    Plan at_delta = plan;
    at_delta.delta = delta;
    Statement other = Account(at_delta, rounds, before);
    RestateUpdates(at_delta, updates, before, &other);
    for (Claim& claim : claims) {
      const Claim* same = other.Find(claim.adversary, claim.view);
      if (has_mu(claim) || same == nullptr) continue;
      claim.pairs.push_back({delta, same->epsilon});
      for (const Assumption assumption : same->assumptions) Assume(assumption, &claim);
    }
  }
}

void AddPairs(std::vector<SpentRounds> all, Statement* statement) {
  if (all.empty() || !(all.back().plan.noise_sigma > 0)) return;
  SpentRounds last = std::move(all.back());
  all.pop_back();
  last.plan.rounds = std::max(last.plan.rounds, last.rounds);
  AddPairs(last.plan, last.rounds, last.updates, all, statement);
}

}  // namespace sotto::privacy
