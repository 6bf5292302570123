// Calibration: the noise that a wanted epsilon needs. It is the inverse of Account() (statement.h).
//
// Where a plan has a schedule, noise_sigma and noise multiplier are the values of round 0, and
// finding them scales the whole schedule.
//
// All functions throw std::invalid_argument for a plan or a target outside its range. They ignore a
// noise_sigma that is already in the plan. Pure functions, safe from any thread.
// Part of sotto::server/plans.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "plans/plan.h"

namespace sotto::privacy {

// No noise multiplier up to 10^9 achieves the target.
class UnattainableEpsilon : public std::runtime_error {
 public:
  UnattainableEpsilon(double target, double smallest);

  // The epsilon of this plan at the largest noise. It is due to earlier jobs, the encoder's
  // certificate and the Poisson cap. +infinity if all noise is colluders' noise.
  double smallest() const { return smallest_; }

 private:
  double smallest_;
};

// The smallest noise_sigma with which all the plan's rounds, composed with the rounds in `before`,
// have an epsilon of at most the target. It is rounded up, so the epsilon accounted with it never
// exceeds the target. The search takes about fifteen accounts of Effort::kQuick. With "best" it
// starts from the noise that RDP needs, which is cheap to find, and takes about ten more. The
// result is to 1e-9 relative if quick and full figures are the same there. Otherwise, for more than
// four different settings of sampled rounds, very many rounds or earlier jobs, a few full accounts
// improve it: more noise is asked for than necessary then, as a rule by less than 1e-3.
//   target_epsilon  in (0, 10^6]
// For kPoisson the plan's cap must suit the target, otherwise more noise is needed to make up for
// it. PlanForEpsilon chooses both. Epsilon jumps as the noise falls, in three places:
//   1. PLD rounds its grid to powers of two: jumps of some 1e-5, relative, where the grid changes.
//   2. One bound of guarantee.h becomes infinite and the other one replaces it.
//   3. Epsilon becomes infinite, past the largest finite epsilon that the plan can state.
// For a target inside a jump the result is the smallest noise whose epsilon is below the jump, and
// this epsilon is less than the target. Throws UnattainableEpsilon.
double Calibrate(const Plan& plan, double target_epsilon,
                 const std::vector<SpentRounds>& before = {});

// The plan with planned_reports set for its sampling: the cohort, or for kPoisson the smallest cap
// that costs at most kDeltaShare of delta over all the rounds at this epsilon, and at most a tenth
// of delta if all the colluders are in the draw (composition.h, lemma 5).
Plan WithPlannedReports(Plan plan, double epsilon);

// The plan with planned_reports and noise_sigma set for a target. Throws UnattainableEpsilon.
Plan PlanForEpsilon(const Plan& plan, double target_epsilon,
                    const std::vector<SpentRounds>& before = {});

struct FittedPlan {
  Plan plan;
  int passes = 0;  // caps tried; 0 if the sampling needs none
};

// The plan with planned_reports and noise_sigma set for a noise multiplier, > 0, of the released
// sum. The cap of a Poisson draw depends on the epsilon, and the epsilon depends slightly on the
// cap. So the function iterates: it starts from the epsilon of uncapped draws and raises the cap
// until the cap suits the epsilon that is accounted with it.
FittedPlan PlanForNoiseMultiplier(const Plan& plan, double noise_multiplier);

// The same for a noise_sigma, > 0.
FittedPlan PlanForNoiseSigma(const Plan& plan, double noise_sigma);

// The smallest factor such that these rounds, with all noise multipliers multiplied by it, have an
// epsilon of at most the target. Found as Calibrate() finds the noise. For more than four different
// settings it is enough, and not quite the smallest: the search charges them in groups
// (grouping.h), and a few full accounts improve its result.
//   rounds          at least one with an effect; their noise multipliers > 0
//   target_epsilon  in (0, 10^6]
//   delta           in (0, 1)
// Throws UnattainableEpsilon, and std::invalid_argument as AccountFor does.
double NoiseFactor(const std::vector<GaussianRounds>& rounds, double target_epsilon, double delta,
                   Accountant accountant);

constexpr int64_t kMaxAffordableRounds = 1'000'000'000;

// The largest number of such rounds, at most kMaxAffordableRounds, whose epsilon is at most the
// target (>= 0); 0 if one round exceeds it. Above 100,000 rounds the number may be smaller than the
// largest one, as a rule by less than one part in 1,000: it is affordable in any case. round.rounds
// is ignored. Throws std::invalid_argument as AccountFor does.
int64_t AffordableRounds(GaussianRounds round, double target_epsilon, double delta,
                         Accountant accountant);

}  // namespace sotto::privacy
