// Choices that depend on released models: the parameters of a later job, and the moment to stop.
//
// An accountant proves its figure for rounds whose number and settings are fixed. A later job on
// the same devices is begun by people who have seen the models of the job before, and who may have
// chosen everything in it accordingly. Let rho_i(a) be the RDP of the i-th round at order a; rho_i
// may depend on all earlier releases.
//   Lemma 1. Let a be fixed beforehand. Let the rounds stop before the sum of rho_i(a) exceeds a
//     number r that was fixed beforehand. Then all the rounds together have RDP r at a. Source:
//     Feldman and Zrnic, "Individual Privacy Accounting via a Renyi Filter" (2021), Section 3;
//     Lecuyer, "Practical Privacy Filters and Odometers with Renyi Differential Privacy and
//     Applications to Differentially Private Deep Learning" (2021), Section 3.
//   Lemma 2. The conversion at a and a fixed delta rises with r. So a limit on epsilon that was
//     fixed beforehand is a limit on r, and that limit is the epsilon of all the rounds, however
//     they were chosen. The encoder's terms rise with the number of encoded coordinates, which the
//     same limit must bound.
//   Remark. Neither lemma holds for the order that is best after the fact, nor for privacy loss
//     distributions, nor for "best".
//   Lemma 3. Rounds of continuous Gaussian noise that count every device, unsampled or with known
//     draws: if the sum of 1 / z_i^2 never exceeds M^2, fixed beforehand, then all the rounds
//     together are M-GDP, however they were chosen. Proof: gdp.h, lemma 2. Nothing is lost to the
//     choices, and no order has to be fixed.
//   Remark. Lemma 3 does not hold for sampled rounds, nor for discrete noise: natural filters for
//     other trade-off functions are false.
//   Remark. If sampled rounds follow unsampled ones, the figure changes from lemma 3 to lemma 1.
//     Before it is known whether they will, a limit promises twice delta (round/job_phases.h).
// Hence the figure of several jobs is exact Gaussian DP while no round is sampled. Otherwise RDP at
// one order gives it: the best order of the first job's plan, which was fixed before any model was
// released. It is a bound on its own if limits were fixed too:
// Assumption::kStopFixedBeforehand. The same assumption stands with the figure of a part of a plan.
// A person who stops a job because of its models claims the figure of all the rounds of the plan,
// which was fixed.
//
// Pure functions, safe from any thread. Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <vector>

#include "accounting/accountant.h"
#include "plans/plan.h"

namespace sotto::privacy {

// What an adversary sees of an earlier job, and how much of it there is.
int64_t CountReleases(const SpentRounds& job);
int64_t CountUpdates(const SpentRounds& job);
using Count = int64_t (*)(const SpentRounds& job);

// The first of the jobs of which there is anything to see; nullptr if there is none.
//   before  in the order in which the jobs began
const SpentRounds* FirstJob(const std::vector<SpentRounds>& before, Count count);

// True if there is something to see of more than one job.
//   present  of the present job
bool IsAdaptive(int64_t present, const std::vector<SpentRounds>& before, Count count);

// True if nothing is released, or all the rounds of one plan and nothing else.
bool IsOneWholePlan(const Plan& plan, int64_t rounds, const std::vector<SpentRounds>& before);

// The filter of releases whose first plan has these rounds: lemma 3 while nothing is sampled,
// otherwise RDP at the order that is best for these rounds at this delta.
Accountant FilterFor(const std::vector<GaussianRounds>& rounds, double delta);

// The same for releases whose draws the adversary knows: Accountant::WithKnownDraws().
Accountant FilterWithKnownDraws(const std::vector<GaussianRounds>& rounds, double delta);

}  // namespace sotto::privacy
