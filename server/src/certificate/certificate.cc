#include "certificate/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "certificate/layer_curve.h"
#include "sotto/dither.h"

namespace sotto::server {
namespace {

constexpr double kUnit = 0x1p-27;
constexpr double kHalfCell = 0x1p-21;
const double kLayer = std::ldexp(1.0, -kLayerBits);
constexpr double kExtendedLayer = 0x1p-96;
constexpr double kExtendedTail = 0x1p-8;  // probability at either end whose layers are extended
constexpr double kWidest = 12;            // w of every layer is smaller

// This file's arithmetic (relative errors of some 1e-13 of terms below 1e-8), the middle rule
// (1e-15), products of two terms (1e-16), and how the density of edges varies within R of y (1e-6
// of a term).
constexpr double kOwnArithmetic = 1e-12;

double Width(double edge) { return edge + OtherEdge(edge); }

// Largest distance between layers whose r lies in [low, high].
double LargestLayer(double low, double high) {
  // The margin 1e-6 is there because y is known up to R.
  const bool extended = LowerTail(std::min(high, 2.0)) < kExtendedTail - 1e-6 ||
                        UpperTail(low) < kExtendedTail - 1e-6;
  return extended ? kExtendedLayer : kLayer;
}

// Half a layer times the total variation of 1 / w over the layers whose larger edge exceeds y,
// where w >= narrowest. Computed once over the layers that are not extended and once over all
// layers.
double SumError(double y, double narrowest) {
  const double sides = y < kNarrowestEdge ? 2 : 1;  // of the narrowest layer
  // The layers that are not extended end at r = 0.2449 and 3.6561, w = 2.89 and 3.706.
  constexpr double kWidthAtExtension = 3.71;
  const double coarse = std::max(0.0, 1 / narrowest - 1 / kWidthAtExtension);
  return sides / 2 * (kLayer * coarse + kExtendedLayer * (1 / narrowest - 1 / kWidest));
}

}  // namespace

double LogRatioBound(const TableErrors& errors, double low, double high) {
  // The thresholds y of a cell reach half a cell beyond its middle.
  const double near = std::max(low - kHalfCell, kUnit / 4);
  const double far = high + kHalfCell;
  const double narrowest = near < kNarrowestEdge && far > kNarrowestEdge
                               ? Width(kNarrowestEdge)
                               : std::min(Width(near), Width(far));
  const double other = OtherEdge(near);
  const double edge_error = errors.Between(near, far).r;
  const double other_error = errors.Between(OtherEdge(far), other).g;
  const double threshold = far * (far * edge_error + other * other_error) / narrowest;

  const double inverse_density = std::exp(MinusLogGaussian(far));
  const double layers = LargestLayer(near, far) + LargestLayer(OtherEdge(far), other);
  const double grid = layers / (4 * narrowest) * inverse_density;

  // The layers further out.
  const double narrowest_beyond = Width(std::max(near, kNarrowestEdge));
  const double sum = SumError(near, narrowest_beyond) * inverse_density;
  const EdgeErrors all = errors.All();
  const double step_error = kUnit + all.r + all.g;
  const double step = step_error / (narrowest_beyond - step_error);
  const double offset = kWidest / kUnit / 128 * std::ldexp(1.0, -kDitherBits - 32) + 1e-15;

  const double difference = threshold + grid + sum + step + offset + kOwnArithmetic;
  return difference < 1 ? -std::log1p(-difference) : std::numeric_limits<double>::infinity();
}

double OutsideBound(const TableErrors& errors, double range) {
  const double end = range - kHalfCell;
  const double error = kUnit + errors.All().r;
  // Each layer has the shares (r - end) / w and (g - end) / w of its probability beyond the end.
  constexpr double kStep = 0x1p-10;
  double mass = 0;
  for (double r = end - error; r < kWidest; r += kStep) {
    const double share = (r + kStep + error - end) / (r - error);
    mass += (UpperTail(r) - UpperTail(r + kStep)) * share;
  }
  // The rest of r, all of g, and one layer more for the grid.
  mass += UpperTail(kWidest) + LowerTail(OtherEdge(end - error)) + 2 * kExtendedLayer;
  return mass * (1 + 1e-9);
}

Certificate ProveCertificate(double range, const std::function<void(size_t, size_t)>& progress) {
  if (!(range >= 8 && range <= 11)) {
    throw std::invalid_argument("the range of a certificate must lie in [8, 11]");
  }
  const TableErrors errors(progress);
  Certificate certificate;
  certificate.range = range;
  certificate.nodes = errors.nodes();
  constexpr int kIntervals = 1 << 16;
  for (int i = 0; i < kIntervals; ++i) {
    const double low = range * i / kIntervals;
    const double high = range * (i + 1) / kIntervals;
    const double bound = LogRatioBound(errors, low, high);
    if (bound > certificate.eta) {
      certificate.eta = bound;
      certificate.eta_at = high;
    }
  }
  certificate.tau = OutsideBound(errors, range);
  // Within the range each moment is the rounded Gaussian's times e^(+-eta); 1e-10 covers two more
  // terms: the effect of the rounding (2^-40 / 12 on the variance) and the mass outside of the
  // range, below 12^4 tau.
  const double moment_error = std::expm1(certificate.eta);
  certificate.variance_error = moment_error + 1e-10;
  certificate.kurtosis_error = 3 * std::expm1(3 * certificate.eta) + 1e-10;
  return certificate;
}

}  // namespace sotto::server
