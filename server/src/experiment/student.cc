#include "experiment/student.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace sotto::server {
namespace {

constexpr double kPi = 3.141592653589793;
constexpr double kRootOfHalf = 0.7071067811865476;

// Simpson's rule with an even number of steps.
double Integral(double from, double to, const std::function<double(double)>& f) {
  constexpr int kSteps = 400;
  const double step = (to - from) / kSteps;
  double sum = f(from) + f(to);
  for (int i = 1; i < kSteps; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(from + i * step);
  return sum * step / 3;
}

double Normal(double x) { return 0.5 * std::erfc(-x * kRootOfHalf); }

// gamma(x + 1/2) / gamma(x). The series is right to 1e-12 from x = 60 on.
double GammaRatio(double x) {
  double factor = 1;
  for (; x < 60; ++x) factor *= x / (x + 0.5);
  const double y = 1 / x;
  return factor * std::sqrt(x) * (1 - y / 8 * (1 - y / 16 * (1 + y * 5 / 8 * (1 - y * 21 / 160))));
}

// The integral over s of g(s) with the density of s = sqrt(X / f), X chi-square with f degrees of
// freedom: what the deviation of f + 1 values is a multiple of.
double MeanOverDeviation(double freedom, const std::function<double(double)>& g) {
  const double reach = 10 / std::sqrt(2 * freedom);
  const double from = std::max(0.0, 1 - reach);
  const auto density = [&](double s) {
    const double power = freedom == 1 ? 0 : (freedom - 1) * std::log(s);
    return s <= 0 && freedom > 1 ? 0 : std::exp(power - freedom * (s * s - 1) / 2);
  };
  return Integral(from, 1 + reach, [&](double s) { return g(s) * density(s); }) /
         Integral(from, 1 + reach, density);
}

// The least count from 2 at which a growing power is reached.
std::optional<size_t> LeastCount(const std::function<double(size_t)>& power) {
  size_t enough = 2;
  while (power(enough) < kWantedPower) {
    if (enough >= kMostSeeds) return std::nullopt;
    enough = std::min(kMostSeeds, 2 * enough);
  }
  size_t less = std::max<size_t>(1, enough / 2);
  while (enough - less > 1) {
    const size_t middle = (less + enough) / 2;
    (power(middle) < kWantedPower ? less : enough) = middle;
  }
  return enough;
}

}  // namespace

// With t = sqrt(f) tan u the density is proportional to cos(u)^(f - 1).
double StudentTail(double t, double freedom) {
  const double factor = GammaRatio(freedom / 2) / std::sqrt(kPi);
  const double end = std::atan(std::fabs(t) / std::sqrt(freedom));
  // What is far in the tail of many degrees of freedom is left out.
  const double reach = std::min(end, 40 / std::sqrt(freedom));
  const double inside =
      factor * Integral(0, reach, [&](double u) { return std::pow(std::cos(u), freedom - 1); });
  const double tail = std::max(0.0, 0.5 - inside);
  return t >= 0 ? tail : 1 - tail;
}

// Newton's steps from 0: the distribution function is concave there, so they never pass the
// quantile.
double StudentQuantile(double probability, double freedom) {
  constexpr int kMostSteps = 200;
  const double factor = GammaRatio(freedom / 2) / std::sqrt(freedom * kPi);
  double t = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double density = factor * std::pow(1 + t * t / freedom, -(freedom + 1) / 2);
    const double step = (probability - 1 + StudentTail(t, freedom)) / density;
    t += step;
    if (std::fabs(step) <= 1e-12 * t) break;
  }
  return t;
}

double PowerToDiffer(size_t count, double difference, double deviation) {
  const double freedom = static_cast<double>(count - 1);
  const double shift = std::fabs(difference) * std::sqrt(freedom + 1) / deviation;
  const double t = StudentQuantile(0.975, freedom);
  return MeanOverDeviation(freedom, [&](double s) { return Normal(shift - t * s); });
}

double PowerToBeEqual(size_t count, double within, double deviation) {
  const double freedom = static_cast<double>(count - 1);
  const double room = within * std::sqrt(freedom + 1) / deviation;
  const double t = StudentQuantile(0.95, freedom);
  return MeanOverDeviation(freedom,
                           [&](double s) { return std::max(0.0, 2 * Normal(room - t * s) - 1); });
}

std::optional<size_t> SeedsToDiffer(double difference, double deviation) {
  if (difference == 0) return std::nullopt;
  return LeastCount([&](size_t n) { return PowerToDiffer(n, difference, deviation); });
}

std::optional<size_t> SeedsToBeEqual(double within, double deviation) {
  return LeastCount([&](size_t n) { return PowerToBeEqual(n, within, deviation); });
}

std::vector<double> HolmAdjusted(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> adjusted(values.size());
  double least = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    const double factor = static_cast<double>(values.size() - rank);
    least = std::max(least, std::min(1.0, factor * values[order[rank]]));
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

}  // namespace sotto::server
