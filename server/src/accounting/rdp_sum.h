// The RDP curve of many rounds together, with a limit on the work.
//
// Part of sotto::server/accounting, used by conversion.h.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <vector>

#include "accounting/conversion.h"
#include "accounting/log_space.h"

namespace sotto::privacy {

// rho as a function of the order. Orders are computed once and kept. Not safe to share between
// threads.
class RdpSum {
 public:
  //   most_terms  how many terms all the orders together may take, in the unit of
  //               RdpPoissonTerms(): some hundred nanoseconds each
  // Throws std::invalid_argument as Canonical() does.
  explicit RdpSum(const std::vector<GaussianRounds>& rounds, double most_terms = kInfinity);

  // rho at a finite order above 1, raised by kArithmeticMargin. For an order that would take more
  // than the limit it is the unsampled Gaussian's, which is never smaller.
  double operator()(double order);

  // The orders computed so far, with their rho.
  const std::map<double, double>& known() const { return known_; }

  // True if an order took more than was left.
  bool is_exhausted() const { return is_exhausted_; }

  // The most terms of one round's curve at this order.
  double LargestTerms(double order) const;

 private:
  struct Curve;  // of one round
  struct Part {
    double rounds;
    std::shared_ptr<Curve> curve;
  };

  double terms_left_;
  double unsampled_ = 0.0;  // rho / order of all the rounds, unsampled
  bool is_exhausted_ = false;
  std::vector<Part> parts_;
  std::map<double, double> known_;
};

}  // namespace sotto::privacy
