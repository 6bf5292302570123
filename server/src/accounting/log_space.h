// Sums of positive terms by their logarithms: the terms may be too large or too small for a double.
// Pure functions and a plain accumulator. Part of sotto::server/accounting.
#pragma once

#include <cmath>
#include <limits>

namespace sotto::privacy {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kHalfLogTwoPi = 0.91893853320467274178;

// ln(1 + e^x), accurate in relative terms at both ends. +-infinity are allowed; NaN gives NaN.
inline double Softplus(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

// ln(e^x - 1) for x > 0.
inline double LogExpm1(double x) {
  return x > 40 ? x + std::log1p(-std::exp(-x)) : std::log(std::expm1(x));
}

// ln(1 - q + q e^x) for x >= 0 and q in (0, 1]; e^x may not fit a double.
inline double LogMixture(double q, double x) {
  if (x < 700) return std::log1p(q * std::expm1(x));
  const double sampled = std::log(q) + x;
  return sampled > 0 ? sampled + std::log1p((1 - q) * std::exp(-sampled))
                     : std::log1p(std::exp(sampled));
}

// Accumulates ln(sum of e^term). Terms may come in any order; -infinity adds nothing.
class LogSum {
 public:
  void Add(double term) {
    if (term <= peak_) {
      if (term != -kInfinity) scaled_sum_ += std::exp(term - peak_);
      return;
    }
    scaled_sum_ = scaled_sum_ * std::exp(peak_ - term) + 1.0;
    peak_ = term;
  }

  double Log() const { return peak_ + std::log(scaled_sum_); }  // -infinity while the sum is zero

 private:
  double peak_ = -kInfinity;
  double scaled_sum_ = 0.0;  // the sum divided by e^peak_
};

}  // namespace sotto::privacy
