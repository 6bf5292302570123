// RDP of the Gaussian mechanism over a cohort drawn uniformly without replacement (rdp.h), as a
// curve that keeps the terms that its orders share. Part of sotto::server/accounting.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "accounting/ratio_moments.h"

namespace sotto::privacy {

// Which of the two theorems bounds the j-th term of the sum, j >= 3, at q^j C(order, j) times
//   kTheorem9   2 e^(j (j - 1) / (2 z^2))
//   kTheorem27  the smaller of kTheorem9's bound and 4 sqrt(B(2 floor(j / 2)) B(2 ceil(j / 2))),
//               with B as in ratio_moments.h; for j > RatioMoments::kMaxMoment kTheorem9's bound
// kTheorem27 bounds the same divergence and is never larger. Both bound the term j = 2 by
// min(4 (e^(1 / z^2) - 1), 2 e^(1 / z^2)).
// Source: Wang, Balle, Kasiviswanathan, "Subsampled Renyi Differential Privacy and Analytical
// Moments Accountant" (2019), Theorems 9 and 27, with epsilon(infinity) = infinity.
enum class UniformTheorem { kTheorem9, kTheorem27 };

// rho(order) for one z and q. Terms and integer orders are computed when first needed and kept, so
// a search over orders costs little more than its largest order. Not safe to share between threads.
class UniformRdp {
 public:
  // Throws std::invalid_argument for a z or q out of range, see rdp.h.
  UniformRdp(double noise_multiplier, double rate, UniformTheorem theorem);

  // Throws std::invalid_argument unless order is finite and above 1.
  double operator()(double order);

  // About the work of operator() at this order, in terms of RdpPoissonTerms(): less once its terms
  // are kept.
  double Terms(double order) const;

 private:
  double LogMoment(int64_t order);  // (order - 1) * rho
  double LogTerm(int64_t j);        // ln of the factor of q^j C(order, j)
  double ComputeLogTerm(int64_t j);

  double z_;
  double rate_;
  UniformTheorem theorem_;
  RatioMoments moments_;
  std::vector<double> log_terms_;  // by j - 2
  std::unordered_map<int64_t, double> log_moments_;
};

}  // namespace sotto::privacy
