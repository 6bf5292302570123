// What a plan and the jobs before it release, as rounds that an accountant composes.
//
// Notation. N, B, q, C, n: see Plan. z is the noise multiplier of a released sum (rdp.h).
//
// Two jobs on the same devices compose under one adjacency, that of the present plan. An earlier
// job whose sampling pairs with the other adjacency is charged without amplification and with
// sensitivity 2C.
//   Lemma 1. Given the draws, one step of either adjacency moves each released sum by at most 2C.
//     - Poisson, one device's data replaced: its update changes by at most 2C if it is drawn.
//     - Uniform, one device removed: couple the two draws. A cohort without the device stays. A
//       cohort with the device gets another one instead, drawn at random from the rest. That is a
//       uniform cohort of the smaller fleet, and one update takes the place of another: at most 2C.
//   Lemma 2. The draws and the coupling depend on no data. So the outputs of the two fleets are
//     mixtures, with the same weights, of pairs for which lemma 1 holds.
//   Lemma 3. The divergence is jointly quasi-convex: the mixtures are no further apart than the
//     worst pair, which is that of an unsampled Gaussian with sensitivity 2C.
//   No draw has to be cut at a cap in this argument, so a cap costs nothing here.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#ifndef SOTTO_PLANS_COMPOSITION_H_
#define SOTTO_PLANS_COMPOSITION_H_

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/plan.h"

namespace sotto::privacy {

// What StateGuarantee() (guarantee.h) takes: ideal rounds, and how far the released ones are from
// them.
struct Composition {
  std::vector<GaussianRounds> rounds;
  Deviations deviations;
};

// `rounds` rounds of the plan after those of earlier jobs, under the plan's adjacency. The plan's
// colluders tell their noise of earlier jobs too. Of several jobs the worst certificate and the
// largest shift count for all coordinates: for jobs of one program they are the same.
// No rounds: nothing is released.
Composition ComposeReleases(const Plan& plan, int64_t rounds,
                            const std::vector<SpentRounds>& before);

// The same for an adversary that sees who takes part: nothing is amplified, and each device is
// charged for every round. The draws depend on no data, so that a cap reveals nothing.
Composition WithDrawsKnown(Composition composition);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_COMPOSITION_H_
