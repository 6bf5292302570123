// A fleet's histogram of prediction errors, and a threshold from it. Part of
// sotto::server/evaluation.
//
// Each device of the cohort counts its samples by their error, in bins whose edges were fixed
// before (ErrorEdges in sotto/train_task.h), and divides by the number of its samples. Its numbers
// add up to 1, so their L2 norm is at most 1, and each device counts alike. The sum over the cohort
// has Gaussian noise in each bin. All here is computed from the noisy sum, so it costs no privacy.
//
// Pure functions, safe from any thread.
#pragma once

#include <optional>
#include <vector>

namespace sotto::server {

struct ErrorHistogram {
  std::vector<float> edges;    // upper ends of the bins, rising; the last bin has none
  std::vector<double> counts;  // [edges.size() + 1] noisy, in devices
  double noise_deviation = 0;  // of each count, in devices; 0 without noise
};

struct FleetThreshold {
  float threshold = 0;     // an edge
  double share_above = 0;  // of the errors, each device counting alike; noisy, in [0, 1]
  // Half the width of the interval around share_above that holds the cohort's share in 95 of 100
  // cases, as far as noise decides it.
  double bar = 0;
};

// The smallest edge from which on every edge has at most the share 1 - quantile of the errors above
// it; absent if no edge has, or if the counts are not more than noise: their sum is not positive.
//   quantile  in (0, 1]
std::optional<FleetThreshold> ThresholdOf(const ErrorHistogram& histogram, double quantile);

}  // namespace sotto::server
