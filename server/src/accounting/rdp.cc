#include "accounting/rdp.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

constexpr double kLogTwo = 0.69314718055994530942;

// The trapezoidal rule covers this many deviations beyond the outermost Gaussians.
constexpr double kTailDeviations = 14.0;
constexpr double kMaxPoints = 131072.0;

void RequireRdpArguments(double noise_multiplier, double rate, double order) {
  RequireNoiseMultiplier(noise_multiplier);
  RequireRate(rate);
  Require(order > 1 && std::isfinite(order), "order", order, "finite and above 1");
}

// The value in the cases that need no formula: no sampling, no participation, no noise or almost
// none. NaN in all other cases.
double TrivialRdp(double z, double rate, double order) {
  const double unsampled = order / (2 * z * z);
  if (rate == 0) return 0;
  // Above 1e300 the exponents in the sums, which are `order` times larger, would overflow.
  if (!(unsampled * order < 1e300)) return kInfinity;
  return rate == 1 ? unsampled : std::nan("");
}

// (order - 1) * rho on the chord between the integers around `order`, from log_moment(n), which
// gives (n - 1) * rho(n) at integers n >= 2.
template <typename LogMoment>
double Chord(double order, LogMoment log_moment) {
  const auto below = static_cast<int64_t>(std::floor(order));
  const double share = order - static_cast<double>(below);
  const double left = below < 2 ? 0.0 : log_moment(below);
  if (share == 0) return left;
  return (1 - share) * left + share * log_moment(below + 1);
}

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

// Checks the arguments and returns the z of the moments. Without noise every order is trivial and
// no moment is used.
double CheckedNoise(double z, double rate) {
  RequireNoiseMultiplier(z);
  RequireRate(rate);
  return z > 0 ? z : 1.0;
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
    case Sampling::kPasses:
      break;
  }
  return RdpUnsampled(noise_multiplier, order);
}

UniformRdp::UniformRdp(double noise_multiplier, double rate, UniformTheorem theorem)
    : z_(noise_multiplier),
      rate_(rate),
      theorem_(theorem),
      moments_(CheckedNoise(noise_multiplier, rate)) {}

double UniformRdp::operator()(double order) {
  RequireRdpArguments(z_, rate_, order);
  const double trivial = TrivialRdp(z_, rate_, order);
  if (!std::isnan(trivial)) return trivial;
  const double log_moment = Chord(order, [this](int64_t n) { return LogMoment(n); });
  return std::min(log_moment / (order - 1), RdpUnsampled(z_, order));
}

double UniformRdp::Terms(double order) const {
  // In the time of a term of RdpPoissonTerms(), which takes more.
  constexpr double kTerm = 0.25;
  constexpr double kMoment = 40.0;
  double terms = 1.0;
  for (const double n : {std::floor(order), std::ceil(order)}) {
    if (log_moments_.count(static_cast<int64_t>(n)) == 0) terms += kTerm * n;
  }
  const double kept = static_cast<double>(log_terms_.size());
  const double moments = std::min(std::ceil(order), static_cast<double>(moments_.Last()));
  if (theorem_ == UniformTheorem::kTheorem27) terms += kMoment * std::max(moments - kept, 0.0);
  return terms;
}

double UniformRdp::ComputeLogTerm(int64_t j) {
  const auto real = static_cast<double>(j);
  const double exponent = real * (real - 1) / (2 * z_ * z_);
  const double theorem9 = kLogTwo + exponent;
  if (j == 2) return std::min(2 * kLogTwo + LogExpm1(exponent), theorem9);
  const int64_t below = j - j % 2;
  const int64_t above = j + j % 2;
  if (theorem_ == UniformTheorem::kTheorem9 || above > moments_.Last()) return theorem9;
  const double mean = (moments_.Log(below) + moments_.Log(above)) / 2;
  return std::min(2 * kLogTwo + mean, theorem9);
}

double UniformRdp::LogTerm(int64_t j) {
  while (static_cast<int64_t>(log_terms_.size()) <= j - 2) {
    log_terms_.push_back(ComputeLogTerm(static_cast<int64_t>(log_terms_.size()) + 2));
  }
  return log_terms_[static_cast<size_t>(j - 2)];
}

double UniformRdp::LogMoment(int64_t order) {
  const auto known = log_moments_.find(order);
  if (known != log_moments_.end()) return known->second;
  const double log_rate = std::log(rate_);
  double log_choose = std::log(static_cast<double>(order));
  LogSum sum;
  for (int64_t k = 2; k <= order; ++k) {
    const auto j = static_cast<double>(k);
    log_choose += std::log(static_cast<double>(order - k + 1) / j);
    sum.Add(log_choose + j * log_rate + LogTerm(k));
  }
  return log_moments_[order] = Softplus(sum.Log());
}

double RdpUniform(double noise_multiplier, double rate, double order) {
  return UniformRdp(noise_multiplier, rate, UniformTheorem::kTheorem9)(order);
}

double RdpUniformTheorem27(double noise_multiplier, double rate, double order) {
  return UniformRdp(noise_multiplier, rate, UniformTheorem::kTheorem27)(order);
}

}  // namespace sotto::privacy
