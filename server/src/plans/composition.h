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
// Colluders. c devices tell the adversary whether they were drawn, and their noise. They can choose
// among the draws by giving attempts up (GiveAttemptUp() in round/job.cc). Let j of the c be in the
// cohort of a release. j is the adversary's choice, for each release anew.
//   Lemma 4. Uniform. Given j, the rest of the cohort is a uniform cohort of B - j of the N - c
//     other devices, with the noise of n = B - j encodings. So the release is a round of rate
//     n / M, M = N - c, and of noise multiplier s sqrt(n), where s is the multiplier of one
//     encoding. n lies between max(B - c, 1) and min(B, M); with n = 0 the cohort holds no other
//     device.
//   Lemma 5. Poisson. Given j, each other device is in the cohort with probability q. cap - j
//     encodings make the noise, and the draw is cut with probability Pr[Bin(N - c, q) > cap - j].
//     Both are worst for j = c.
//   Lemma 6. For RDP the largest curve over all n is charged at each order. The order is fixed, so
//     a choice that depends on earlier releases composes (Mironov 2017, Proposition 1). Many n are
//     charged in blocks; a block has the rate and the noise of its ends.
//   Lemma 7. Let f(q, mu), mu = 1 / z, be the delta of a uniform cohort at g = e^epsilon >= 1:
//     f = q delta_mu(ln(1 + (g - 1) / q)) with the Gaussian's delta_mu (round_loss.h). Let
//     t = mu/2 - ln(1 + (g - 1) / q) / mu, which is at most mu/2, phi the Gaussian density, Phi its
//     integral. Then
//       q df/dq   = q (Phi(t) - Phi(t - mu)), which is at most q mu e^(mu^2/8) phi(t),
//       mu df/dmu = q mu phi(t).
//   Lemma 8. Hence f does not rise while ln q rises by A and ln mu falls by L, A <= L e^(-mu^2/8)
//     at the first mu, the largest one. For g < 1 the delta follows from the delta at 1/g. So the
//     pair (q, mu) dominates the pair (q e^A, mu e^-L). Dominating pairs compose, even if an
//     adversary chooses among the dominated ones (Zhu, Dong, Wang 2022, Theorem 10).
//   Lemma 9. Let n0 = B - c, mu = 1 / (s sqrt(n0)), w = e^(-mu^2/8), n = min(B, M). The noise of n0
//     encodings at the rate max(B/N, (n/M) (n0/n)^(w/2)) dominates every feasible n: this is lemma
//     8 with L = ln(n/n0) / 2, and the rate that it asks for rises with n. The first term is the
//     larger one for B up to about w N/2.
//
// Schedules. The rounds of a plan may differ in bound and noise, and so in s, the noise multiplier
// of one encoding (schedule.h).
//   Lemma 10. A round of multiplier s' >= s is no worse than one of multiplier s, for every draw
//     and every choice of the adversary: adding noise to the other noises is post-processing. So
//     many different rounds are charged in groups at the smallest s of each, and lemmas 4 to 9 hold
//     for a group.
//   Lemma 11. Where nothing is amplified, the rounds cost exactly what one round of
//     1 / z^2 = sum of 1 / z_t^2 costs (grouping.h, lemma 3).
//
// Passes (turns.h). A device is charged for at most K rounds of a job, the costliest ones, and for
// K times D B coordinates of the encoder. The present job is charged for its limit from its first
// release on. Nothing is secret, so earlier jobs are charged as WithDrawsKnown() does, or by the
// turns that the records name (SpentRounds::turns).
//   Lemma 12. All rounds are then Gaussian, so their mu^2 add up exactly, also where what was
//     released before chose them (gdp.h, lemma 2): no filter of fixed order is needed.
//   Lemma 13. Let every device keep a limit over the life of the store, for mu^2 and for the
//     coordinates (Plan::life_mu_squared, turns.h, lemma 10). Then mu^2 of all jobs together, this
//     one to its end included, is at most the smaller of the sum and of the limit, and so are the
//     coordinates: a device that would exceed it is not asked.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/guarantee.h"
#include "plans/plan.h"

namespace sotto::privacy {

// The arguments of StateGuarantee() (guarantee.h): ideal rounds, and the deviations of the released
// rounds from them.
struct Composition {
  std::vector<GaussianRounds> rounds;
  // The same to an adversary that knows the draws: who can also choose them, by making rounds fail,
  // and who cannot. `watched` is for accountants WithKnownDraws().
  std::vector<GaussianRounds> unsampled;
  std::vector<GaussianRounds> watched;
  Deviations deviations;
};

// Composes `rounds` rounds of the plan, the first ones of its schedule, with the rounds of earlier
// jobs, under the plan's adjacency. The rounds of a plan with participants_known are composed as
// WithDrawsKnown() does. The plan's colluders tell what they know of earlier jobs too. The worst
// certificate and the largest shift of all jobs count for all coordinates; for jobs of one program
// they are the same. Without rounds nothing is released.
Composition ComposeReleases(const Plan& plan, int64_t rounds,
                            const std::vector<SpentRounds>& before);

// The composition for an adversary that sees the participants. Nothing is amplified, and each
// device is charged for every round, or for those that drew it. The draws depend on no data, so a
// cap reveals nothing. The refusals of updates stay charged.
Composition WithDrawsKnown(Composition composition);

// The same for an adversary that sees the participants, but makes no round fail because of them
// (accounting/known_draws.h). Rounds with participants_known, and those that are charged under
// another adjacency, are unsampled here too.
Composition WithDrawsWatched(Composition composition);

}  // namespace sotto::privacy
