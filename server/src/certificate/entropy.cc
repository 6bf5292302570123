#include "certificate/entropy.h"

#include <algorithm>
#include <cmath>

namespace sotto::server {
namespace {

constexpr double kLayerStep = 0.02;  // of the grid over r
constexpr double kLastLayer = 8;
constexpr double kValueStep = 0.025;  // of the grid over values, in their deviations
constexpr double kLastValue = 36;     // a Laplace value is larger with probability below 1e-22

double Cost(double probability) {
  return probability > 0 ? -probability * std::log2(probability) : 0;
}

// The entropy of one layer with step w. The integrand is symmetric about c = -1/2.
double EntropyOfStep(Distribution distribution, double w) {
  const double first = std::max(-w / 2, -kLastValue);
  const auto points = static_cast<int>(std::ceil((kLastValue - first) / kValueStep));
  const double step = (kLastValue - first) / points;
  double sum = 0;
  for (int i = 0; i <= points; ++i) {
    const double x = first + i * step;
    const double probability = x > 0 ? Above(distribution, x) - Above(distribution, x + w)
                                     : Below(distribution, x + w) - Below(distribution, x);
    sum += (i == 0 || i == points ? 0.5 : 1.0) * Cost(probability);
  }
  return 2 * sum * step / w;
}

}  // namespace

double Above(Distribution distribution, double x) {
  if (distribution == Distribution::kNormal) return 0.5 * std::erfc(x / std::sqrt(2.0));
  const double tail = 0.5 * std::exp(-std::sqrt(2.0) * std::fabs(x));
  return x > 0 ? tail : 1 - tail;
}

double Below(Distribution distribution, double x) { return Above(distribution, -x); }

double IntegerEntropy(Distribution distribution, double scale) {
  double sum = 0;
  double weights = 0;
  for (double r = kLayerStep; r < kLastLayer; r += kLayerStep) {
    // The chi distribution with three degrees of freedom, and the other edge.
    const double density = r * r * std::exp(-r * r / 2);
    const double g = std::sqrt(-2 * std::log1p(-std::exp(-r * r / 2)));
    sum += density * EntropyOfStep(distribution, (r + g) / scale);
    weights += density;
  }
  return sum / weights;
}

}  // namespace sotto::server
