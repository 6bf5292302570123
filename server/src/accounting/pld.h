// Accounting by privacy loss distributions: the tightest accountant here for sampled rounds.
//
// Poisson sampling: both directions of add/remove adjacency are composed, each over all the rounds,
// and the larger epsilon counts; apart from the numeric error it is exact for the worst pair of
// fleets. Uniform cohorts: the pair that dominates every replacement (LossPair::kReplace) is
// composed; the lower bound is one on that composition, to measure the numeric error, and says
// nothing about how much smaller the true epsilon is. Unsampled rounds mix with either.
// The order of the rounds and their grouping change no bit of the result.
// Part of sotto::server/accounting.
#ifndef SOTTO_ACCOUNTING_PLD_H_
#define SOTTO_ACCOUNTING_PLD_H_

#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"
#include "accounting/loss_sum.h"
#include "accounting/types.h"

namespace sotto::privacy {

class Pld {
 public:
  // Composes the rounds; epsilons can be asked for at any delta and are tight near this one (in
  // (0, 1)). Takes some milliseconds, for very many rounds some tenths of a second.
  // Throws std::invalid_argument as conversion.h does.
  Pld(const std::vector<GaussianRounds>& rounds, double delta);

  // False for a noise multiplier below kMinLossNoiseMultiplier, a rate below 1e-9, more than 10^10
  // rounds, a delta below 10^-200, and for uniform and Poisson sampling together, which have no
  // adjacency in common. Rounds without an effect do not count.
  static bool Supports(const std::vector<GaussianRounds>& rounds, double delta);

  // The smallest epsilon at this delta, bounded from above (+infinity if the rounds and the
  // constructor's delta are not supported) or from below.
  double Epsilon(double delta, Bound bound = Bound::kUpper) const;

 private:
  bool is_supported_ = true;
  std::vector<LossSum> directions_;  // none: no round has an effect
};

// The accountant "pld". It states a lower bound on the true epsilon unless a round is a uniform
// cohort. `delta` as in Pld's constructor.
EpsilonAt ComposePld(const std::vector<GaussianRounds>& rounds, double delta);

}  // namespace sotto::privacy

#endif  // SOTTO_ACCOUNTING_PLD_H_
