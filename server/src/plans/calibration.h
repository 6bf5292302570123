// From a wanted epsilon to the noise that earns it: the inverse of Account() (statement.h).
//
// Pure functions, safe from any thread. All of them throw std::invalid_argument for a plan or a
// target out of range; a noise_sigma already in the plan is ignored.
// Part of sotto::server/plans.
#ifndef SOTTO_PLANS_CALIBRATION_H_
#define SOTTO_PLANS_CALIBRATION_H_

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "plans/plan.h"

namespace sotto::privacy {

// No noise within reach (a noise multiplier up to 10^9) earns the target.
class UnattainableEpsilon : public std::runtime_error {
 public:
  UnattainableEpsilon(double target, double smallest);

  // The epsilon of this plan at the largest noise: what earlier jobs, the encoder's certificate and
  // the Poisson cap leave standing. +infinity if the colluders' noise is all there is.
  double smallest() const { return smallest_; }

 private:
  double smallest_;
};

// The smallest noise_sigma with which all the plan's rounds, after those spent before, earn an
// epsilon of at most the target, to 1e-9 relative and rounded up: the epsilon accounted with it
// never exceeds the target. About fifteen accounts; by "best" it starts from the noise that RDP
// asks for, which is cheap to find, and takes about ten more. PLD's grid is rounded to powers of
// two, so its epsilon is smooth in the noise but for jumps of some 1e-5, relative, where the grid
// changes; a target within one is met from below.
//   target_epsilon  in (0, 10^6]
// Throws UnattainableEpsilon. For kPoisson the plan's cap must suit the target, or the noise has to
// pay for it: PlanForEpsilon chooses both. As noise falls epsilon jumps in two places: where one
// bound of guarantee.h gives out and the other takes over, and past the largest finite epsilon the
// plan can state. For a target inside a jump the result is the smallest noise that stays below it,
// and its epsilon is less than the target.
double Calibrate(const Plan& plan, double target_epsilon,
                 const std::vector<SpentRounds>& before = {});

// The plan with planned_reports set as its sampling asks: the cohort, or for kPoisson the smallest
// cap that at this epsilon costs at most kDeltaShare of delta over all the rounds.
Plan WithPlannedReports(Plan plan, double epsilon);

// The plan with planned_reports and noise_sigma set for a target. Throws UnattainableEpsilon.
Plan PlanForEpsilon(const Plan& plan, double target_epsilon,
                    const std::vector<SpentRounds>& before = {});

struct FittedPlan {
  Plan plan;
  int passes = 0;  // caps tried; 0 if the sampling needs none
};

// The plan with planned_reports and noise_sigma set for a noise multiplier, > 0, of the released
// sum. The cap of a Poisson draw depends on the epsilon, and that, slightly, on the cap. So this
// iterates: it starts from the epsilon of uncapped draws and raises the cap until it suits the
// epsilon accounted with it.
FittedPlan PlanForNoiseMultiplier(const Plan& plan, double noise_multiplier);

// The smallest factor by which the noise multipliers of all these rounds must be multiplied for
// them to earn an epsilon of at most the target, to 1e-9 relative and rounded up.
//   rounds          at least one with an effect; their noise multipliers > 0
//   target_epsilon  in (0, 10^6]
//   delta           in (0, 1)
// Throws UnattainableEpsilon, and std::invalid_argument as AccountFor does.
double NoiseFactor(const std::vector<GaussianRounds>& rounds, double target_epsilon, double delta,
                   Accountant accountant);

constexpr int64_t kMaxAffordableRounds = 1'000'000'000;

// The largest number of such rounds, at most kMaxAffordableRounds, that earn an epsilon of at most
// the target (>= 0); 0 if one is too many. round.rounds is ignored. Throws std::invalid_argument as
// AccountFor does.
int64_t AffordableRounds(GaussianRounds round, double target_epsilon, double delta,
                         Accountant accountant);

}  // namespace sotto::privacy

#endif  // SOTTO_PLANS_CALIBRATION_H_
