// The privacy statement that a plan earns: what is claimed to whom, and the facts it rests on.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#ifndef SOTTO_PLANS_STATEMENT_H_
#define SOTTO_PLANS_STATEMENT_H_

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "accounting/types.h"
#include "plans/claim.h"
#include "plans/plan.h"

namespace sotto::privacy {

// Made by Account(). Without claims, as it is constructed, it promises nothing.
struct Statement {
  std::vector<Claim> claims;     // those of claim_kinds.h that the trust mode has, in that order
  std::vector<Guarantee> terms;  // terms[i]: what claims[i].epsilon is made of
  Sampling sampling = Sampling::kUniform;
  int64_t rounds = 0;                       // released
  int64_t earlier_rounds = 0;               // of earlier jobs, composed with them
  double noise_multiplier = 0.0;            // of the released sum, all of the encoders' noise in it
  double accounted_noise_multiplier = 0.0;  // without the colluders' part
  double private_noise_multiplier = 0.0;    // z of one update against the server; 0: none

  // nullptr if there is no such claim.
  const Claim* Find(Adversary adversary, View view) const;

  // The epsilon of that claim; +infinity if there is none, which is not to be printed as a figure.
  double EpsilonOf(Adversary adversary, View view) const;

  // The first claim, (public, releases); without claims one with an infinite epsilon.
  Claim Headline() const;

  // The headline's epsilon, and how much of it may be the numeric error of its accountant.
  double epsilon() const { return Headline().epsilon; }
  double numeric_error() const;
};

// The statement after `rounds_released` rounds of the plan: upper bounds by the plan's accountant
// (guarantee.h). By "best" it takes some milliseconds, tens of them for thousands of rounds.
//   rounds_released  in [0, plan.rounds]; 0 gives epsilon 0, or that of `before`. It is taken for
//                    the number of attempts too, see RestateUpdates()
//   before  rounds that some of the same devices took part in earlier; composed as what they are,
//           at the plan's delta and under its adjacency (composition.h)
// Throws std::invalid_argument for a bad plan, an earlier one or a number of rounds.
Statement Account(const Plan& plan, int64_t rounds_released,
                  const std::vector<SpentRounds>& before = {});

// States the claims that count updates anew, for another number of attempts: those that released
// nothing showed the server an update all the same.
//   plan, before  as the statement was made from
//   updates       one for each attempt; >= 0
// Throws std::invalid_argument as Account() does.
void RestateUpdates(const Plan& plan, int64_t updates, const std::vector<SpentRounds>& before,
                    Statement* statement);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_STATEMENT_H_
