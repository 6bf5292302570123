// Central moments of the Gaussian likelihood ratio.
//
//   B(l) = E[(L - 1)^l],  L = exp((2x - 1) / (2 z^2)),  x ~ N(0, z^2),  l even
//
// As a binomial sum B(l) alternates and cancels hundreds of digits. Here B(l) is computed as an
// integral of a function that is nowhere negative, by the trapezoidal rule in u = x / z:
//   B(l) = 1/sqrt(2 pi) * integral of exp(l ln|L - 1| - u^2 / 2) du.
//   Lemma 1. Let h be the step and theta = 2 pi / (z h). The rule's error is the sum over k != 0 of
//     E[(L e^(i k theta) - 1)^l] e^(-2 (pi k / h)^2): shift the line of integration by
//     2 pi i k / h.
//   Lemma 2. If 1 / (z h) is an integer, e^(i theta) = 1. The error is then B(l) times
//     2 e^(-2 (pi / h)^2), whatever l: below 7e-18 at the steps used, h <= 0.7.
//   For z > 10 the step is 1/10 instead. The error is then below 1e-30, relative, for all
//   l <= kMaxMoment.
// Part of sotto::server/accounting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "accounting/log_space.h"

namespace sotto::privacy {

// ln B(l) for one z, computed at its first use. Not safe to share between threads.
class RatioMoments {
 public:
  static constexpr int64_t kMaxMoment = 2048;

  // z > 0, finite.
  explicit RatioMoments(double z);

  // An even l such that B(l') >= E[L^l'] / 2 for all even l' >= l; kMaxMoment if that is smaller. A
  // caller that can also use the bound E[L^l] / 2 needs no B beyond Last().
  int64_t Last() const { return last_; }

  // ln B(l), l even, in [2, Last()]; relative error of B below 1e-11.
  double Log(int64_t l);

 private:
  struct Node {
    double log_distance;  // ln|L - 1|
    double half_square;   // u^2 / 2
  };

  void Tabulate();
  double Exponent(size_t node, int64_t l) const;
  // For the nodes [begin, end) on one side of L = 1: Peak finds the node with the largest
  // integrand, AddLobe adds the terms of the nodes to the sum.
  size_t Peak(size_t begin, size_t end, int64_t l) const;
  void AddLobe(size_t begin, size_t end, int64_t l, LogSum* sum) const;

  double z_;
  int64_t last_;
  double step_ = 0.0;
  std::vector<Node> nodes_;   // by rising u; empty until the first call of Log
  size_t zero_ = 0;           // the first node with L > 1
  std::vector<double> logs_;  // by l / 2 - 1; NaN until computed
};

}  // namespace sotto::privacy
