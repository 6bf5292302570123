// The privacy statement of a plan: the claims, and the facts on which they rest.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "accounting/types.h"
#include "plans/claim.h"
#include "plans/plan.h"

namespace sotto::privacy {

// The result of Account(). A default-constructed statement has no claims and promises nothing.
struct Statement {
  std::vector<Claim> claims;  // the kinds of claim_kinds.h that the trust mode has, in that order
  // terms[i]: the guarantee of claims[i] by itself. The claim's epsilon is smaller where the one
  // against somebody who sees more is: CoverByStronger() in statement.cc.
  std::vector<Guarantee> terms;
  Sampling sampling = Sampling::kUniform;
  int64_t rounds = 0;          // released
  int64_t earlier_rounds = 0;  // of earlier jobs, composed with these rounds
  // Of the sum that was released last, with all of the encoders' noise; of round 0 before any.
  double noise_multiplier = 0.0;
  double accounted_noise_multiplier = 0.0;  // without the colluders' part
  double private_noise_multiplier = 0.0;    // z of one update against the server; 0: none

  // nullptr if there is no such claim.
  const Claim* Find(Adversary adversary, View view) const;

  // The epsilon of that claim; +infinity if there is no such claim. That +infinity must not be
  // printed as a figure.
  double EpsilonOf(Adversary adversary, View view) const;

  // The first claim, (public, releases). Without claims: a claim with an infinite epsilon.
  Claim Headline() const;

  // The headline's epsilon, and the part of it that may be numeric error of its accountant.
  double epsilon() const { return Headline().epsilon; }
  // The same by the releases alone: an attempt that releases nothing does not raise it, as it may
  // raise a figure against the server. Budgets are on it. Without claims +infinity.
  double epsilon_of_releases() const { return terms.empty() ? epsilon() : terms.front().epsilon; }
  double numeric_error() const;
};

// The statement after `rounds_released` rounds of the plan: upper bounds by the plan's accountant
// (guarantee.h). By "best" it takes some milliseconds, tens of them for thousands of rounds.
//   rounds_released  in [0, plan.rounds]; 0 gives epsilon 0, or the epsilon of `before`. It also
//                    counts as the number of attempts, see RestateUpdates(). Of kPasses every other
//                    number gives the figure of the job's limit (turns.h, lemma 3)
//   before  earlier rounds of some of the same devices; composed with their own settings, at the
//           plan's delta and under its adjacency (composition.h)
// Throws std::invalid_argument for a bad plan, a bad earlier plan or a bad number of rounds.
Statement Account(const Plan& plan, int64_t rounds_released,
                  const std::vector<SpentRounds>& before = {});

// Account(...).epsilon_of_releases() alone, for the trials of a search: the other claims take time,
// too.
double HeadlineEpsilon(const Plan& plan, int64_t rounds_released,
                       const std::vector<SpentRounds>& before = {});

// Recomputes the claims that count updates, for another number of attempts. The server saw the
// updates of attempts that released nothing, too.
//   plan, before  the arguments from which Account() made the statement
//   updates       one for each attempt; >= 0
// Throws std::invalid_argument as Account() does.
void RestateUpdates(const Plan& plan, int64_t updates, const std::vector<SpentRounds>& before,
                    Statement* statement);

// What is known of the owners of a fleet's devices.
struct Owners {
  // The eligible devices of each owner, and each one without an owner by itself; empty: unknown.
  std::vector<int64_t> eligible_of = {};
  int64_t most_devices = 0;      // of one owner, revoked ones included; 0: no device has an owner
  bool may_have_shared = false;  // two devices of one owner were, or may have been, in one cohort
};

// An upper bound on the epsilon, at the plan's delta, of all the data of an owner, as the headline
// has it for one device (turns.h, lemma 13; guarantee.h, lemma 12, for the owner's turns).
//   plan, rounds_released, before  as Account() takes them; the plan is of kPasses
//   devices                        of the owner, >= 1
//   may_share_cohorts              two of them may be in one cohort
// Throws as Account() does.
double OwnerEpsilon(const Plan& plan, int64_t rounds_released,
                    const std::vector<SpentRounds>& before, int64_t devices,
                    bool may_share_cohorts);

// The deltas at which a claim without mu states an epsilon besides its own.
constexpr double kPairDeltas[] = {1e-5, 1e-6};

// Sets Claim::pairs of the claims that have no mu. Takes as long as two accounts.
//   plan, rounds, updates, before  as the statement has them
void AddPairs(const Plan& plan, int64_t rounds, int64_t updates,
              const std::vector<SpentRounds>& before, Statement* statement);

// The same for a statement of several phases.
//   all  earlier jobs and the phases of the present one, the last of which has the next round
void AddPairs(std::vector<SpentRounds> all, Statement* statement);

}  // namespace sotto::privacy
