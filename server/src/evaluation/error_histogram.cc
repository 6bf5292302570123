#include "evaluation/error_histogram.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sotto::server {
namespace {

constexpr double kDeviations = 1.96;  // of a normal distribution: 95 of 100

}  // namespace

std::optional<FleetThreshold> ThresholdOf(const ErrorHistogram& histogram, double quantile) {
  const std::vector<double>& counts = histogram.counts;
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  if (!(all > 0)) return std::nullopt;
  std::optional<FleetThreshold> found;
  double above = 0;
  for (size_t edge = histogram.edges.size(); edge-- > 0;) {
    above += counts[edge + 1];
    if (all - above < quantile * all) break;
    const auto bins = static_cast<double>(histogram.edges.size() - edge);
    found = {histogram.edges[edge], std::clamp(above / all, 0.0, 1.0),
             kDeviations * histogram.noise_deviation * std::sqrt(bins) / all};
  }
  return found;
}

}  // namespace sotto::server
