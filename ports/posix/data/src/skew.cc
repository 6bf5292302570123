#include "skew.h"

#include <algorithm>
#include <cmath>

namespace sotto {
namespace {

constexpr double kLog2 = 0.693147180559945309417232121458;
constexpr double kSqrtHalf = 0.707106781186547524400844362105;
constexpr int kLogTerms = 13;  // |s| < 0.1716: the next term is below 2^-66 of the sum
constexpr int kExpTerms = 15;  // |r| < 0.3466: the next term is below 2^-63

// A standard normal variate by Marsaglia's polar method; the second one is not used.
double DrawNormal(RandomStream& random) {
  for (;;) {
    const double x = 2 * DrawUniform(random) - 1;
    const double y = 2 * DrawUniform(random) - 1;
    const double square = x * x + y * y;
    if (square < 1 && square > 0) return x * std::sqrt(-2 * LogOf(square) / square);
    if (random.status() != Status::kOk) return 0;  // all draws are equal: no loop without end
  }
}

// The logarithm of a gamma variate, alpha >= 1.
double DrawLogGammaFromOne(double alpha, RandomStream& random) {
  const double d = alpha - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = DrawNormal(random);
    const double root = 1 + c * x;
    const double u = DrawUniform(random);
    if (root <= 0) continue;
    const double log_v = 3 * LogOf(root);
    const double v = root * root * root;
    if (LogOf(u) < x * x / 2 + d - d * v + d * log_v) return LogOf(d) + log_v;
    if (random.status() != Status::kOk) return 0;
  }
}

// Gamma(alpha) is Gamma(alpha + 1) times U^(1 / alpha).
double DrawLogGamma(double alpha, RandomStream& random) {
  if (alpha >= 1) return DrawLogGammaFromOne(alpha, random);
  const double log_gamma = DrawLogGammaFromOne(alpha + 1, random);
  return log_gamma + LogOf(DrawUniform(random)) / alpha;
}

}  // namespace

// x = m 2^e with m in [sqrt(1/2), sqrt(2)); log m = 2 artanh(s), s = (m - 1) / (m + 1).
double LogOf(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double square = s * s;
  double sum = 0;
  for (int k = kLogTerms; k > 0; --k) sum = (sum + 1.0 / (2 * k + 1)) * square;
  return exponent * kLog2 + 2 * s * (1 + sum);
}

// x = k log 2 + r; e^r by its Taylor series.
double ExpOf(double x) {
  if (x < -700) return 0;
  const double k = std::floor(x / kLog2 + 0.5);
  const double r = x - k * kLog2;
  double sum = 1;
  for (int n = kExpTerms; n > 0; --n) sum = 1 + sum * r / n;
  return std::ldexp(sum, static_cast<int>(k));
}

double DrawUniform(RandomStream& random) {
  const uint64_t high = random.NextU32();
  const uint64_t bits = high << 20 | random.NextU32() >> 12;  // 52 bits
  return (static_cast<double>(bits) + 0.5) * 0x1p-52;
}

std::vector<double> DrawDirichlet(size_t count, double alpha, RandomStream& random) {
  std::vector<double> shares(count);
  for (double& share : shares) share = DrawLogGamma(alpha, random);
  const double most = *std::max_element(shares.begin(), shares.end());
  double total = 0;
  for (double& share : shares) total += share = ExpOf(share - most);
  for (double& share : shares) share /= total;
  return shares;
}

}  // namespace sotto
