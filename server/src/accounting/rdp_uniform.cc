#include "accounting/rdp_uniform.h"

#include <algorithm>
#include <cmath>

#include "accounting/log_space.h"
#include "accounting/rdp.h"
#include "accounting/rdp_parts.h"

namespace sotto::privacy {
namespace {

constexpr double kLogTwo = 0.69314718055994530942;

// Checks the arguments and returns the z of the moments. Without noise every order is trivial and
// no moment is used.
double CheckedNoise(double z, double rate) {
  RequireNoiseMultiplier(z);
  RequireRate(rate);
  return z > 0 ? z : 1.0;
}

}  // namespace

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
