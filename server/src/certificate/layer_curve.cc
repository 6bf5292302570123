#include "certificate/layer_curve.h"

#include <cmath>

namespace sotto::server {
namespace {

const double kLn2 = std::log(2.0);
const double kSqrtTwoOverPi = std::sqrt(2 / std::acos(-1.0));

// Density of the chi distribution with three degrees of freedom.
double ChiDensity(double r) { return kSqrtTwoOverPi * r * r * std::exp(-r * r / 2); }

// A bound of |sum| if every term may have an error of 1 %.
double CurvatureBound(const double* terms, int count) {
  double sum = 0;
  double sizes = 0;
  for (int i = 0; i < count; ++i) {
    sum += terms[i];
    sizes += std::fabs(terms[i]);
  }
  return std::fabs(sum) + 0.01 * sizes;
}

}  // namespace

double LowerTail(double r) {
  // Terms r^(2k) / (3 5 ... (2k + 3)), all positive: nothing cancels however small r is.
  double term = 1.0 / 3;
  double sum = term;
  for (int k = 5; term > sum * 1e-18; k += 2) {
    term *= r * r / k;
    sum += term;
  }
  return r * ChiDensity(r) * sum;
}

double UpperTail(double r) {
  return std::erfc(r / std::sqrt(2.0)) + kSqrtTwoOverPi * r * std::exp(-r * r / 2);
}

double OtherEdge(double r) {
  const double half = r * r / 2;
  return std::sqrt(-2 * (half < 1 ? std::log(-std::expm1(-half)) : std::log1p(-std::exp(-half))));
}

double MinusLogGaussian(double x) { return x * x / 2 - std::log(kSqrtTwoOverPi / 2); }

LayerPoint LayerCurve::At(double u) {
  double r = r_ + slope_ * (u - u_);
  double step = r;
  for (int i = 0; i < 50 && std::fabs(step) > 1e-8 * r; ++i) {
    // Newton's method. Each step squares the error, so the error after the last step is negligible.
    const double tail = upper_ ? UpperTail(r) : LowerTail(r);
    slope_ = (upper_ ? kLn2 : -kLn2) * tail / ChiDensity(r);
    step = (u + std::log2(tail)) * slope_;
    r += step;
  }
  u_ = u;
  r_ = r;
  // On either half 2^-u is a tail of chi_3, so d2r/du2 = -ln 2 dr/du - (dr/du)^2 (2/r - r).
  const double s = slope_;
  const double r_terms[] = {-kLn2 * s, -s * s * 2 / r, s * s * r};
  // With b below: dg/dr = -r b / g and db/dr = -r b (1 + b).
  const double g = OtherEdge(r);
  const double b = 1 / std::expm1(r * r / 2);
  const double k = -r * b / g;
  const double g_terms[] = {k * r_terms[0], k * r_terms[1],           k * r_terms[2],
                            -s * s * b / g, -s * k * r * (1 + b) * s, -s * s * k * k / g};
  LayerPoint point;
  point.r = r;
  point.g = g;
  point.r_slope = std::fabs(s);
  point.g_slope = std::fabs(k * s);
  point.r_curvature = CurvatureBound(r_terms, 3);
  point.g_curvature = CurvatureBound(g_terms, 6);
  return point;
}

}  // namespace sotto::server
