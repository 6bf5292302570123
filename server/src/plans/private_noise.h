// Trust mode kPrivateNoise: the guarantee against the server that the devices' own noise gives.
//
//   Lemma 1. A clipped update has norm at most C, so replacing a device's data moves the update by
//     at most 2C. The server knows the participants. So nothing is amplified, whatever the
//     sampling.
//   Lemma 2. The device adds discrete Gaussian noise of deviation 2 C z to each coordinate. Its RDP
//     is at most that of continuous Gaussian noise with multiplier z (Canonne, Kamath, Steinke,
//     "The Discrete Gaussian for Differential Privacy", 2020, Proposition 5).
//   Lemma 3. Everything that the server sees of an update is computed from the noisy update, and
//     post-processing does not weaken a guarantee.
//   Hence k updates of one device are k unsampled Gaussian rounds of multiplier z.
//
// The figures against the other adversaries rest on the encoder's noise alone in this mode too.
//   Lemma 4. Fix the devices' own noise, which depends on no data. Adding a constant and
//     clipping do not increase a difference. So the encoder's inputs of two neighbours differ by no
//     more than their clipped updates, and the encoder's guarantee holds.
//   Lemma 5. A guarantee that holds for every value of the devices' own noise holds for its
//     mixture.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#ifndef SOTTO_PLANS_PRIVATE_NOISE_H_
#define SOTTO_PLANS_PRIVATE_NOISE_H_

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/plan.h"

namespace sotto::privacy {

// The guarantee against the server, and against everyone to whom it tells all it knows, for
// `updates` updates of one device and its updates in earlier jobs. It holds under replace-one
// adjacency at the plan's delta. epsilon is +infinity if the server is trusted, or was trusted in
// an earlier job.
//   updates  >= 0; one for every attempt at a round, released or not: the server sees the updates
//            of abandoned attempts too
// Throws std::invalid_argument for a bad plan or number.
Guarantee GuaranteeAgainstServer(const Plan& plan, int64_t updates,
                                 const std::vector<SpentRounds>& before = {});

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_PRIVATE_NOISE_H_
