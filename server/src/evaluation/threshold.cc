#include "evaluation/threshold.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sotto::server {
namespace {

double Share(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

uint64_t CountAbove(const std::vector<float>& errors, float threshold) {
  return static_cast<uint64_t>(
      std::count_if(errors.begin(), errors.end(), [&](float error) { return error > threshold; }));
}

struct KnownError {
  float error;
  bool is_anomaly;
};

// From the largest error to the smallest.
std::vector<KnownError> Falling(const KnownErrors& errors) {
  std::vector<KnownError> all;
  for (const float error : errors.normal) all.push_back({error, false});
  for (const float error : errors.anomalous) all.push_back({error, true});
  std::sort(all.begin(), all.end(),
            [](const KnownError& a, const KnownError& b) { return a.error > b.error; });
  return all;
}

// visit(first, end) for each run of equal errors.
template <class Visit>
void ForEachRun(const std::vector<KnownError>& all, Visit visit) {
  for (size_t first = 0; first < all.size();) {
    size_t end = first;
    while (end < all.size() && all[end].error == all[first].error) ++end;
    visit(first, end);
    first = end;
  }
}

uint64_t CountAnomalies(const std::vector<KnownError>& all, size_t first, size_t end) {
  uint64_t count = 0;
  for (size_t i = first; i < end; ++i) count += all[i].is_anomaly ? 1 : 0;
  return count;
}

}  // namespace

double Detection::precision() const { return Share(true_alarms, alarms); }

double Detection::recall() const { return Share(true_alarms, anomalies); }

double Detection::f1() const { return Share(2 * true_alarms, alarms + anomalies); }

Detection Detect(const KnownErrors& errors, float threshold) {
  Detection detection;
  detection.true_alarms = CountAbove(errors.anomalous, threshold);
  detection.alarms = detection.true_alarms + CountAbove(errors.normal, threshold);
  detection.anomalies = errors.anomalous.size();
  return detection;
}

float ErrorQuantile(std::vector<float> errors, double q) {
  const auto count = static_cast<double>(errors.size());
  const auto rank = static_cast<size_t>(std::ceil(std::clamp(q * count, 1.0, count)));
  const auto at = errors.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(errors.begin(), at, errors.end());
  return *at;
}

float BestThreshold(const KnownErrors& errors) {
  const std::vector<KnownError> all = Falling(errors);
  Detection at;
  at.anomalies = errors.anomalous.size();
  float best = all.front().error;
  double most = 0;
  ForEachRun(all, [&](size_t first, size_t end) {
    at.alarms = end;
    at.true_alarms += CountAnomalies(all, first, end);
    if (at.f1() <= most) return;
    most = at.f1();
    constexpr float kLowest = -std::numeric_limits<float>::infinity();
    best = end < all.size() ? all[end].error : std::nextafter(all.back().error, kLowest);
  });
  return best;
}

double AreaUnderCurve(const KnownErrors& errors) {
  double pairs = 0;
  uint64_t larger = 0;  // anomalies with a larger error
  const std::vector<KnownError> all = Falling(errors);
  ForEachRun(all, [&](size_t first, size_t end) {
    const uint64_t anomalies = CountAnomalies(all, first, end);
    const auto normal = static_cast<double>(end - first - anomalies);
    pairs += normal * (static_cast<double>(larger) + static_cast<double>(anomalies) / 2);
    larger += anomalies;
  });
  return pairs / static_cast<double>(errors.normal.size()) /
         static_cast<double>(errors.anomalous.size());
}

}  // namespace sotto::server
