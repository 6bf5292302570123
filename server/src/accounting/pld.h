// Accounting by privacy loss distributions: the tightest accountant here for sampled rounds.
//
//   - Poisson sampling. Both directions of add/remove adjacency are composed, each over all the
//     rounds, and the larger epsilon counts. Apart from the numeric error it is exact for the worst
//     pair of fleets.
//   - Uniform cohorts. The pair that dominates every replacement (LossPair::kReplace) is composed.
//     The lower bound holds for that composition and measures the numeric error. It does not bound
//     the true epsilon from below.
//   - Unsampled rounds mix with either sampling.
//
// More than 64 different settings, 8 at Effort::kQuick, are charged in groups (grouping.h). There
// is then no lower bound. The more settings, the fewer steps has the window (loss_sum.h), so that
// the time is bounded.
//
// The order of the rounds and their grouping change no bit of the result. Immutable after
// construction, safe from any thread. Part of sotto::server/accounting.
#pragma once

#include <vector>

#include "accounting/accounted.h"
#include "accounting/conversion.h"
#include "accounting/loss_sum.h"
#include "accounting/types.h"

namespace sotto::privacy {

class Pld {
 public:
  // Composes the rounds. Epsilons are available at any delta and tight near this one, in (0, 1).
  // Takes some milliseconds, for very many rounds or settings some tenths of a second.
  // Throws std::invalid_argument as conversion.h does.
  Pld(const std::vector<GaussianRounds>& rounds, double delta, Effort effort = Effort::kFull);

  // False in five cases: a noise multiplier below kMinLossNoiseMultiplier, a rate below 1e-9, more
  // than 10^10 rounds, a delta below 10^-200, or uniform and Poisson sampling together, which have
  // no adjacency in common. Rounds without an effect are ignored.
  static bool Supports(const std::vector<GaussianRounds>& rounds, double delta);

  // False if the rounds were grouped: the lower bound is then 0.
  bool HasLowerBound() const { return !is_grouped_; }

  // The smallest epsilon at this delta, bounded from above (+infinity if the rounds and the
  // constructor's delta are not supported) or from below.
  double Epsilon(double delta, Bound bound = Bound::kUpper) const;

 private:
  // Replaces the rounds by groups that dominate them.
  void Group(size_t most, std::vector<GaussianRounds>* rounds);

  bool is_supported_ = true;
  bool is_grouped_ = false;  // the rounds are dominated by others, so there is no lower bound
  std::vector<LossSum> directions_;  // none: no round has an effect
};

// The accountant "pld". It states a lower bound on the true epsilon unless a round is a uniform
// cohort. `delta` as in Pld's constructor.
EpsilonAt ComposePld(const std::vector<GaussianRounds>& rounds, double delta, Effort effort);

}  // namespace sotto::privacy
