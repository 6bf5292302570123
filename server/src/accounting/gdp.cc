#include "accounting/gdp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "accounting/arguments.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

constexpr double kSqrtHalf = 0.70710678118654752440;
constexpr double kMargin = 1e-13;  // relative; covers the rounding errors of LogGdpDelta

double Phi(double x) { return std::erfc(-x * kSqrtHalf) / 2; }

// ln of the standard Gaussian density.
double LogDensity(double x) { return -x * x / 2 - kHalfLogTwoPi; }

// Mills' ratio R(t) = Phi(-t) / density(t) is the continued fraction 1/(t + 1/(t + 2/(t + 3/...))).
// The fraction is evaluated at two points together with their difference. A subtraction of the two
// values would cancel; instead, for K_n(t) = n / (t + K_(n+1)(t)),
//   K_n(a) - K_n(b) = K_n(a) K_n(b) / n * ((b - a) - (K_(n+1)(a) - K_(n+1)(b))).
struct MillsPair {
  double at_b;
  double difference;  // R(a) - R(a + width)
};

// a >= 1, width >= 0. After n terms the relative error of the ratio is about e^(-2 a sqrt(2n)),
// here below 1e-27. The relative error of the difference is some orders of magnitude larger.
MillsPair EvaluateMills(double a, double width) {
  constexpr int kTerms = 500;
  const double b = a + width;
  double at_a = 0.0;
  double at_b = 0.0;
  double difference = 0.0;
  for (int n = kTerms; n >= 0; --n) {
    const double numerator = n == 0 ? 1.0 : n;
    at_a = numerator / (a + at_a);
    at_b = numerator / (b + at_b);
    difference = at_a * at_b / numerator * (width - difference);
  }
  return {at_b, difference};
}

// The negative derivative of Mills' ratio: 1 - t R(t). For |t| up to about 1.
double MillsSlope(double t) { return 1 - t * Phi(-t) * std::exp(-LogDensity(t)); }

// The difference R(a) - R(a + width) for a < 1 and a small width: the integral of the negative
// slope, by Gauss-Legendre quadrature with five points.
double MillsDifferenceNear(double a, double width) {
  constexpr double kNodes[] = {0.0, 0.53846931010568309104, 0.90617984593866399280};
  constexpr double kWeights[] = {0.56888888888888888889, 0.47862867049936646804,
                                 0.23692688505618908751};
  const double half = width / 2;
  const double middle = a + half;
  double sum = kWeights[0] * MillsSlope(middle);
  for (int i = 1; i < 3; ++i) {
    sum += kWeights[i] *
           (MillsSlope(middle - half * kNodes[i]) + MillsSlope(middle + half * kNodes[i]));
  }
  return sum * half;
}

// With a = epsilon/mu - mu/2 and b = a + mu, e^epsilon density(b) is density(a), so that
//   delta = density(a) (R(a) - R(b)) = Phi(-a) - density(a) R(b).
double LogDelta(double mu, double epsilon) {
  const double a = epsilon / mu - mu / 2;
  if (a >= 1) return LogDensity(a) + std::log(EvaluateMills(a, mu).difference);
  if (mu < 0.05) return LogDensity(a) + std::log(MillsDifferenceNear(a, mu));
  const double b = a + mu;
  if (b < 1) return std::log(Phi(-a) - std::exp(epsilon) * Phi(-b));
  return std::log(Phi(-a) - std::exp(LogDensity(a)) * EvaluateMills(b, 0).at_b);
}

void RequireMu(double mu) { Require(mu >= 0, "mu", mu, "at least 0"); }

void RequireEpsilon(double epsilon) {
  Require(epsilon >= 0 && std::isfinite(epsilon), "epsilon", epsilon, "finite and at least 0");
}

// Bisects [low, high] until both ends are neighbouring doubles, or nearly. `is_low(x)` is true
// below the root. Halving the range of all doubles takes fewer steps than kMostSteps; the bound
// ends the search where the middle of two denormal numbers is one of them.
template <typename IsLow>
void Bisect(double* low, double* high, IsLow is_low) {
  constexpr double kUnit = std::numeric_limits<double>::epsilon();
  constexpr int kMostSteps = 2200;
  for (int step = 0; step<kMostSteps&& * high - *low> 2 * kUnit * *high; ++step) {
    const double middle = *low + (*high - *low) / 2;
    (is_low(middle) ? *low : *high) = middle;
  }
}

// mu^2 of the central limit theorem for one round.
double SquaredCentralLimitMu(const GaussianRounds& r) {
  const double inverse = 1 / std::fabs(r.noise_multiplier);  // of -0, too, infinite
  if (r.sampling == Sampling::kNone) return inverse * inverse;
  const double q2 = r.sampling_rate * r.sampling_rate;
  if (q2 == 0) return 0;
  if (r.sampling == Sampling::kPoisson) return q2 * std::expm1(inverse * inverse);
  return 2 * q2 * (std::exp(inverse * inverse) * Phi(1.5 * inverse) + 3 * Phi(-0.5 * inverse) - 2);
}

template <typename Square>
double ComposedMu(const std::vector<GaussianRounds>& rounds, Square square) {
  double sum = 0.0;
  for (const GaussianRounds& r : rounds) {
    RequireNoiseMultiplier(r.noise_multiplier);
    RequireRate(r.sampling_rate);
    Require(r.rounds >= 0, "number of rounds", r.rounds, "at least 0");
    if (r.rounds > 0) sum += static_cast<double>(r.rounds) * square(r);
  }
  return std::sqrt(sum);
}

}  // namespace

double LogGdpDelta(double mu, double epsilon) {
  RequireMu(mu);
  RequireEpsilon(epsilon);
  if (mu == 0) return -kInfinity;
  if (mu == kInfinity) return 0;
  const double log_delta = LogDelta(mu, epsilon);
  return std::isnan(log_delta) ? -kInfinity : log_delta;  // a is beyond the range of doubles
}

double GdpDelta(double mu, double epsilon) { return std::exp(LogGdpDelta(mu, epsilon)); }

double GdpEpsilon(double mu, double delta) {
  RequireMu(mu);
  RequireDelta(delta);
  if (mu == kInfinity) return kInfinity;
  const double log_delta = std::log(delta);
  if (LogGdpDelta(mu, 0) <= log_delta) return 0;
  double low = 0.0;
  // delta(epsilon) <= Phi(-a) <= e^(-a^2/2).
  double high = mu * (mu / 2 + std::sqrt(-2 * log_delta));
  if (high == kInfinity) return kInfinity;
  Bisect(&low, &high, [&](double epsilon) { return LogGdpDelta(mu, epsilon) > log_delta; });
  return high * (1 + kMargin);
}

double GdpMu(double epsilon, double delta) {
  RequirePositive(epsilon, "epsilon");
  RequireDelta(delta);
  const double log_delta = std::log(delta);
  double low = 0.0;
  double high = 1.0;
  while (LogGdpDelta(high, epsilon) <= log_delta) high *= 2;
  Bisect(&low, &high, [&](double mu) { return LogGdpDelta(mu, epsilon) <= log_delta; });
  return low * (1 - kMargin);
}

double GdpAttackerRight(double mu) {
  RequireMu(mu);
  return Phi(mu / 2);
}

bool IsUnsampled(const std::vector<GaussianRounds>& rounds) {
  return std::all_of(rounds.begin(), rounds.end(),
                     [](const GaussianRounds& r) { return r.sampling == Sampling::kNone; });
}

double UnsampledMu(const std::vector<GaussianRounds>& rounds) {
  return ComposedMu(rounds, [](const GaussianRounds& r) {
    return 1 / (r.noise_multiplier * r.noise_multiplier);
  });
}

ApproximateMu CentralLimitMu(const std::vector<GaussianRounds>& rounds) {
  return {ComposedMu(rounds, SquaredCentralLimitMu)};
}

EpsilonAt ComposeGaussian(const std::vector<GaussianRounds>& rounds, double /*delta*/,
                          Effort /*effort*/) {
  const double mu = UnsampledMu(rounds);
  const bool is_exact = IsUnsampled(rounds);
  return [mu, is_exact](double delta) {
    constexpr double kRounding = 1e-12;
    AccountedEpsilon result;
    result.winner = "gaussian";
    result.epsilon = GdpEpsilon(mu, delta);
    if (is_exact) result.epsilon_lower = result.epsilon * (1 - kRounding);
    return result;
  };
}

EpsilonAt ComposeGdp(const std::vector<GaussianRounds>& rounds, double delta, Effort effort) {
  if (IsUnsampled(rounds)) return ComposeGaussian(rounds, delta, effort);
  const ApproximateMu mu = CentralLimitMu(rounds);
  return [mu](double at) {
    AccountedEpsilon result;
    result.winner = "gdp";
    result.epsilon = GdpEpsilon(mu.value, at);
    result.is_upper_bound = false;
    return result;
  };
}

}  // namespace sotto::privacy
