#include "accounting/ratio_moments.h"

#include <cmath>

#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

constexpr double kLogSqrtTwoPi = 0.91893853320467274178;
constexpr double kMaxStep = 0.7;
constexpr double kFineStep = 0.1;

// On either side of its zero at L = 1 the integrand is log-concave. It falls from its peak at least
// as fast as a unit Gaussian. So ten deviations, and terms down to e^-50, hold all but 1e-21 of the
// integral.
constexpr double kReach = 10.0;
constexpr double kNegligible = 50.0;

double Step(double z) {
  if (z > 1 / kFineStep) return kFineStep;
  return 1 / (z * std::ceil(1 / (z * kMaxStep)));
}

// B(l) = E[L^l] E[(1 - 1/L)^l], where the last expectation is over u ~ N(l/z, 1). There
// (1 - 1/L)^l >= 1 - l/L. Hence B(l) / E[L^l] >= 1 - l e^(-(l - 1) / z^2). This bound rises with l
// from l = z^2.
int64_t LastUseful(double z) {
  int64_t l = 2;
  while (l < RatioMoments::kMaxMoment) {
    const auto real = static_cast<double>(l);
    if (real >= z * z && real * std::exp(-(real - 1) / (z * z)) <= 0.5) break;
    l += 2;
  }
  return l;
}

// ln|e^x - 1|.
double LogDistance(double x) { return x > 0 ? LogExpm1(x) : std::log(-std::expm1(x)); }

}  // namespace

RatioMoments::RatioMoments(double z) : z_(z), last_(LastUseful(z)) {}

double RatioMoments::Log(int64_t l) {
  if (nodes_.empty()) Tabulate();
  double& log = logs_.at(static_cast<size_t>(l / 2 - 1));
  if (std::isnan(log)) {
    LogSum sum;
    AddLobe(0, zero_, l, &sum);
    AddLobe(zero_, nodes_.size(), l, &sum);
    log = sum.Log() + std::log(step_) - kLogSqrtTwoPi;
  }
  return log;
}

void RatioMoments::Tabulate() {
  logs_.assign(static_cast<size_t>(last_ / 2), std::nan(""));
  step_ = Step(z_);
  // The peaks lie within sqrt(l) below zero and l/z + sqrt(l) + 1/(2z) above it.
  const auto power = static_cast<double>(last_);
  const double first = -(kReach + std::sqrt(power));
  const double last = kReach + std::sqrt(power) + (power + 0.5) / z_;
  const auto count = static_cast<int64_t>((last - first) / step_) + 2;
  nodes_.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const double u = first + static_cast<double>(i) * step_;
    const double log_ratio = (u - 0.5 / z_) / z_;
    nodes_.push_back({LogDistance(log_ratio), u * u / 2});
    if (log_ratio <= 0) zero_ = nodes_.size();
  }
}

double RatioMoments::Exponent(size_t node, int64_t l) const {
  return static_cast<double>(l) * nodes_[node].log_distance - nodes_[node].half_square;
}

size_t RatioMoments::Peak(size_t begin, size_t end, int64_t l) const {
  size_t low = begin;
  size_t high = end - 1;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (Exponent(middle, l) < Exponent(middle + 1, l)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void RatioMoments::AddLobe(size_t begin, size_t end, int64_t l, LogSum* sum) const {
  const size_t peak = Peak(begin, end, l);
  const double least = Exponent(peak, l) - kNegligible;
  for (size_t i = peak; i < end && Exponent(i, l) >= least; ++i) sum->Add(Exponent(i, l));
  for (size_t i = peak; i > begin && Exponent(i - 1, l) >= least; --i) sum->Add(Exponent(i - 1, l));
}

}  // namespace sotto::privacy
