// Mean and deviation of repeated measurements. Part of sotto::server/base.
//
// Pure: safe from any thread.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace sotto::server {

// Mean and sample deviation (divisor n - 1) of values.
struct MeanDeviation {
  size_t count = 0;
  double mean = 0;       // 0 without values
  double deviation = 0;  // 0 for fewer than two values

  // Of the mean; 0 for fewer than two values.
  double standard_error() const {
    return count < 2 ? 0 : deviation / std::sqrt(static_cast<double>(count));
  }
};

inline MeanDeviation MeanDeviationOf(const std::vector<double>& values) {
  MeanDeviation result;
  result.count = values.size();
  if (values.empty()) return result;
  for (const double value : values) result.mean += value;
  result.mean /= static_cast<double>(values.size());
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.deviation = std::sqrt(squares / static_cast<double>(values.size() - 1));
  return result;
}

}  // namespace sotto::server
