#include "accounting/rdp.h"

#include <algorithm>
#include <cmath>

#include "accounting/log_space.h"
#include "accounting/rdp_parts.h"

namespace sotto::privacy {
namespace {

// The trapezoidal rule covers this many deviations beyond the outermost Gaussians.
constexpr double kTailDeviations = 14.0;
constexpr double kMaxPoints = 131072.0;

// ln(1 - q + q e^exponent).
double LogMixtureRatio(double rate, double exponent) {
  if (exponent < 700) return std::log1p(rate * std::expm1(exponent));
  const double sampled = std::log(rate) + exponent;  // e^exponent may not fit a double
  return sampled > 0 ? sampled + std::log1p((1 - rate) * std::exp(-sampled))
                     : std::log1p(std::exp(sampled) - rate);
}

// (1 + y)^a - 1 - a*y for |a*y| small, by its binomial series: the closed form would cancel.
double GapSeries(double a, double y) {
  double term = a * (a - 1) / 2 * y * y;
  double sum = term;
  for (int k = 3; std::abs(term) > 1e-18 * sum; ++k) {
    term *= (a - k + 1) / k * y;
    sum += term;
  }
  return sum;
}

// ln((1 + y)^a - 1 - a*y) where ln(1 + y) = v. The argument of the outer logarithm is never
// negative (Bernoulli's inequality).
double LogGap(double a, double v) {
  const double power = a * v;
  if (power > 600) {  // 1 + a*y = a e^v (1 - (a - 1)/a e^-v), taken relative to e^power
    const double linear = std::log1p(a - 1) - (a - 1) * v + std::log1p((1 - a) / a * std::exp(-v));
    return power + std::log(-std::expm1(linear));
  }
  const double y = std::expm1(v);
  if (std::abs(a * y) < 0.03) return std::log(GapSeries(a, y));
  if (a > 2) return std::log(std::expm1(power) - a * y);
  // The same value, arranged so that it does not cancel as a falls to 1.
  return std::log((1 + y) * (std::expm1((a - 1) * v) - (a - 1)) + (a - 1));
}

// The integrand has branch points at a distance pi z^2 from the real axis. Below z = 1/6 these
// points set the step, not the width z of the Gaussians.
double TrapezoidStep(double z) { return std::min(z / 12, z * z / 2); }

// The length of the range of integration, [-14 z, max(order, 2) + 14 z].
double TrapezoidRange(double z, double order) {
  return std::max(order, 2.0) + 2 * kTailDeviations * z;
}

// ln(A(order) - 1) by the trapezoidal rule.
double LogExcessMomentTrapezoid(double z, double rate, double order) {
  const double step = TrapezoidStep(z);
  const auto points = static_cast<int64_t>(TrapezoidRange(z, order) / step) + 1;
  LogSum sum;
  for (int64_t i = 0; i <= points; ++i) {
    const double x = -kTailDeviations * z + static_cast<double>(i) * step;
    const double v = LogMixtureRatio(rate, (2 * x - 1) / (2 * z * z));
    sum.Add(LogGap(order, v) - (x / z) * (x / z) / 2);
  }
  return sum.Log() + std::log(step / z) - kHalfLogTwoPi;
}

// ln(A(order) - 1) at an integer order: the terms 0 and 1 of the binomial sum have exponent 0, so
// taking 1 off every exponential takes 1 off the sum.
double LogExcessMomentBinomial(double z, double rate, int64_t order) {
  const double log_rate = std::log(rate);
  const double log_rest = std::log1p(-rate);
  double log_choose = std::log(static_cast<double>(order));
  LogSum sum;
  for (int64_t k = 2; k <= order; ++k) {
    const auto j = static_cast<double>(k);
    log_choose += std::log(static_cast<double>(order - k + 1) / j);
    const double rest = k == order ? 0.0 : static_cast<double>(order - k) * log_rest;
    sum.Add(log_choose + j * log_rate + rest + LogExpm1(j * (j - 1) / (2 * z * z)));
  }
  return sum.Log();
}

}  // namespace

double RdpUnsampled(double noise_multiplier, double order) {
  RequireRdpArguments(noise_multiplier, 1, order);
  return order / (2 * noise_multiplier * noise_multiplier);
}

double RdpPoissonTerms(double noise_multiplier, double order) {
  const double points = TrapezoidRange(noise_multiplier, order) / TrapezoidStep(noise_multiplier);
  return points <= kMaxPoints ? points : 2 * order;
}

double RdpPoisson(double noise_multiplier, double rate, double order) {
  RequireRdpArguments(noise_multiplier, rate, order);
  const double z = noise_multiplier;
  const double trivial = TrivialRdp(z, rate, order);
  if (!std::isnan(trivial)) return trivial;
  const bool is_cheap = TrapezoidRange(z, order) <= kMaxPoints * TrapezoidStep(z);
  const double log_moment =
      is_cheap
          ? Softplus(LogExcessMomentTrapezoid(z, rate, order))
          : Chord(order, [&](int64_t n) { return Softplus(LogExcessMomentBinomial(z, rate, n)); });
  return std::min(log_moment / (order - 1), RdpUnsampled(z, order));
}

double RdpPoissonBinomial(double noise_multiplier, double rate, int64_t order) {
  const auto real_order = static_cast<double>(order);
  RequireRdpArguments(noise_multiplier, rate, real_order);
  const double trivial = TrivialRdp(noise_multiplier, rate, real_order);
  if (!std::isnan(trivial)) return trivial;
  return Softplus(LogExcessMomentBinomial(noise_multiplier, rate, order)) / (real_order - 1);
}

double Rdp(Sampling sampling, double noise_multiplier, double rate, double order) {
  switch (sampling) {
    case Sampling::kUniform:
      return RdpUniformTheorem27(noise_multiplier, rate, order);
    case Sampling::kPoisson:
      return RdpPoisson(noise_multiplier, rate, order);
    case Sampling::kNone:
    case Sampling::kFull:
      break;
  }
  return RdpUnsampled(noise_multiplier, order);
}

}  // namespace sotto::privacy
