// The releases of a plan and of the jobs before it, as rounds that an accountant composes.
//
// Notation. N, B, q, C, n: see Plan. z is the noise multiplier of a released sum (rdp.h).
//
// Two jobs on the same devices compose under one adjacency: the adjacency of the present plan. An
// earlier job whose sampling pairs with the other adjacency is charged without amplification and
// with sensitivity 2C.
//   Lemma 1. Given the draws, one step of either adjacency moves each released sum by at most 2C.
//     - Poisson, one device's data replaced: its update changes by at most 2C if it is drawn.
//     - Uniform, one device removed: couple the two draws. A cohort without the device stays. In a
//       cohort with the device another one, drawn at random from the rest, takes its place. The
//       result is a uniform cohort of the smaller fleet. One update replaces another: at most 2C.
//   Lemma 2. The draws and the coupling depend on no data. So the outputs of the two fleets are
//     mixtures, with the same weights, of pairs for which lemma 1 holds.
//   Lemma 3. The divergence is jointly quasi-convex. So the mixtures are no further apart than the
//     worst pair: an unsampled Gaussian with sensitivity 2C.
//   This proof does not need a cap on the draws, so a cap costs nothing here.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#ifndef SOTTO_PLANS_COMPOSITION_H_
#define SOTTO_PLANS_COMPOSITION_H_

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/plan.h"

namespace sotto::privacy {

// The arguments of StateGuarantee() (guarantee.h): ideal rounds, and the deviations of the released
// rounds from them.
struct Composition {
  std::vector<GaussianRounds> rounds;
  Deviations deviations;
};

// Composes `rounds` rounds of the plan with the rounds of earlier jobs, under the plan's adjacency.
// The plan's colluders tell their noise of earlier jobs too. The worst certificate and the largest
// shift of all jobs count for all coordinates; for jobs of one program they are the same. Without
// rounds nothing is released.
Composition ComposeReleases(const Plan& plan, int64_t rounds,
                            const std::vector<SpentRounds>& before);

// The composition for an adversary that sees the participants. Nothing is amplified, and each
// device is charged for every round. The draws depend on no data, so a cap reveals nothing. The
// refusals of updates stay charged.
Composition WithDrawsKnown(Composition composition);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_COMPOSITION_H_
