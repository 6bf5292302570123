// Renyi differential privacy (RDP) of one round: the curve rho(order) of the Gaussian mechanism
// applied to the sum over a sampled cohort.
//
// Notation. The noise multiplier z is the standard deviation of the noise on the released SUM,
// divided by the sensitivity of that sum (C under add/remove, 2C under replace-one). The rate q is
// the probability that a given device is in the cohort. Orders are real numbers above 1.
//
// Every curve is an upper bound on the true divergence, non-negative and never above the unsampled
// Gaussian's. z = 0 gives +infinity (0 if q = 0). A value too large for a double is +infinity. No
// result is NaN. Every function throws std::invalid_argument for a negative or non-finite z, a q
// outside [0, 1] or an order not above 1. Pure functions, safe from any thread.
// Part of sotto::server/accounting.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "accounting/ratio_moments.h"
#include "accounting/types.h"

namespace sotto::privacy {

// The Gaussian mechanism without sampling: order / (2 z^2).
// Source: Mironov, "Renyi Differential Privacy" (2017), Corollary 3.
double RdpUnsampled(double noise_multiplier, double order);

// Poisson sampling, add/remove adjacency, any real order: rho = ln A(order) / (order - 1), where A
// is the order-th moment of the likelihood ratio 1 + y of the sampled mixture against N(0, z^2),
//   y = q (exp((2x - 1) / (2 z^2)) - 1),   A - 1 = E[(1 + y)^order - 1 - order*y],  x ~ N(0, z^2).
// E[y] is zero; subtracting it leaves an integrand that is nowhere negative, so nothing cancels.
// The trapezoidal rule with step z/12 (finer when z < 1/6) leaves a relative error below 1e-12. If
// the rule would need more than 131,072 points (orders in the thousands of z, or z below about
// 0.005), the function returns the chord of (order - 1) * rho between integer orders instead. The
// chord lies above that convex function.
// Source: Mironov, Talwar, Zhang, "Renyi Differential Privacy of the Sampled Gaussian Mechanism"
// (2019), Theorems 4 and 5: the direction mixture against Gaussian has the larger divergence.
double RdpPoisson(double noise_multiplier, double rate, double order);

// The number of terms that RdpPoisson adds up, for choosing orders that are worth it. No throw.
double RdpPoissonTerms(double noise_multiplier, double order);

// RdpPoisson at an integer order >= 2 by the finite binomial sum. Relative error below 1e-12; costs
// `order` terms. Source: the same paper, Section 3.3 (integer order).
double RdpPoissonBinomial(double noise_multiplier, double rate, int64_t order);

// A cohort of fixed size drawn uniformly without replacement, replace-one adjacency. The theorem
// gives integer orders. The chord of (order - 1) * rho gives real orders; this function is convex
// and zero at order 1. Both are at most the unsampled Gaussian's curve. Costs up to 2 * order
// terms.
// Source: Wang, Balle, Kasiviswanathan, "Subsampled Renyi Differential Privacy and Analytical
// Moments Accountant" (2019), Theorem 9 with epsilon(infinity) = infinity.
double RdpUniform(double noise_multiplier, double rate, double order);

// A tighter bound for the same cohorts: Theorem 27 of the same paper, never above Theorem 9. Within
// 1e-10 relative of the theorem's value. For more than one order use UniformRdp.
double RdpUniformTheorem27(double noise_multiplier, double rate, double order);

// RdpUniformTheorem27, RdpPoisson or RdpUnsampled by the scheme; kNone ignores the rate.
double Rdp(Sampling sampling, double noise_multiplier, double rate, double order);

// Which of the two theorems bounds the j-th term of the sum, j >= 3, at q^j C(order, j) times
//   kTheorem9   2 e^(j (j - 1) / (2 z^2))
//   kTheorem27  the smaller of kTheorem9's bound and 4 sqrt(B(2 floor(j / 2)) B(2 ceil(j / 2))),
//               with B as in ratio_moments.h; for j > RatioMoments::kMaxMoment kTheorem9's bound
// kTheorem27 bounds the same divergence and is never larger. Both bound the term j = 2 by
// min(4 (e^(1 / z^2) - 1), 2 e^(1 / z^2)).
// Source: Wang, Balle, Kasiviswanathan, "Subsampled Renyi Differential Privacy and Analytical
// Moments Accountant" (2019), Theorems 9 and 27, with epsilon(infinity) = infinity.
enum class UniformTheorem { kTheorem9, kTheorem27 };

// rho(order) of a cohort drawn uniformly, for one z and q. Terms and integer orders are computed
// when first needed and kept, so a search over orders costs little more than its largest order. Not
// safe to share between threads.
class UniformRdp {
 public:
  // Throws std::invalid_argument for a z or q out of range.
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
