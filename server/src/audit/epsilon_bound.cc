#include "audit/epsilon_bound.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "audit/statistics.h"

namespace sotto::server {
namespace {

// The thresholds to try: this many quantiles of each side, closer together in the tails.
constexpr int kQuantiles = 200;

using Sorted = std::vector<double>;

Sorted SortedPart(Span<const double> all, size_t first, size_t count) {
  Sorted part(all.begin() + first, all.begin() + first + count);
  std::sort(part.begin(), part.end());
  return part;
}

int64_t Hits(const Sorted& draws, double threshold, bool is_above) {
  if (is_above) {
    return draws.end() - std::lower_bound(draws.begin(), draws.end(), threshold);
  }
  return std::upper_bound(draws.begin(), draws.end(), threshold) - draws.begin();
}

TellingEvent Count(const Sorted& p, const Sorted& q, double threshold, bool is_above) {
  const int64_t of_p = Hits(p, threshold, is_above);
  const int64_t of_q = Hits(q, threshold, is_above);
  return {threshold, is_above, static_cast<int64_t>(p.size()), is_above ? of_p : of_q,
          is_above ? of_q : of_p};
}

// Quantiles of probability 1 / (1 + e^-x) for evenly spaced x.
std::vector<double> Candidates(const Sorted& p, const Sorted& q) {
  std::vector<double> thresholds;
  const double reach = std::log(static_cast<double>(p.size()));
  for (int i = 0; i <= kQuantiles; ++i) {
    const double share = 1 / (1 + std::exp(reach * (2.0 * i / kQuantiles - 1)));
    const auto at = static_cast<size_t>(share * static_cast<double>(p.size() - 1));
    thresholds.push_back(p[at]);
    thresholds.push_back(q[at]);
  }
  std::sort(thresholds.begin(), thresholds.end());
  thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
  return thresholds;
}

// Wilson's interval: near enough to choose a threshold by, and fast. z > 0 gives the upper end.
double Roughly(int64_t trials, int64_t hits, double z) {
  const auto n = static_cast<double>(trials);
  const double share = static_cast<double>(hits) / n;
  const double wide = z * std::sqrt(share * (1 - share) / n + z * z / (4 * n * n));
  return (share + z * z / (2 * n) + wide) / (1 + z * z / n);
}

double LogRatio(double likely, double unlikely, double delta) {
  return likely > delta && unlikely > 0 ? std::log((likely - delta) / unlikely) : 0;
}

// The event of a direction that promises most on draws that are not counted later.
TellingEvent Choose(const std::vector<TellingEvent>& events, double delta, double z) {
  TellingEvent best = events.front();
  double most = -1;
  for (const TellingEvent& event : events) {
    const double promised = LogRatio(Roughly(event.trials, event.likely_hits, -z),
                                     Roughly(event.trials, event.unlikely_hits, z), delta);
    if (promised <= most) continue;
    most = promised;
    best = event;
  }
  return best;
}

std::vector<TellingEvent> Events(const Sorted& p, const Sorted& q, bool is_above) {
  std::vector<TellingEvent> events;
  for (const double threshold : Candidates(p, q))
    events.push_back(Count(p, q, threshold, is_above));
  return events;
}

void RequireDraws(Span<const double> p, Span<const double> q, double error) {
  if (p.size() != q.size() || p.size() < 2 || p.size() % 2 != 0 || !(error > 0 && error < 0.5)) {
    throw std::invalid_argument(
        "a measured epsilon takes as many draws of one side as of the other, an even number of at "
        "least 2, and an error probability between 0 and 0.5");
  }
}

}  // namespace

std::vector<MeasuredEpsilon> MeasureEpsilon(Span<const double> p, Span<const double> q,
                                            const std::vector<double>& deltas, double error) {
  RequireDraws(p, q, error);
  const size_t half = p.size() / 2;
  const Sorted choose_p = SortedPart(p, 0, half), choose_q = SortedPart(q, 0, half);
  const Sorted count_p = SortedPart(p, half, half), count_q = SortedPart(q, half, half);
  // Two directions for each delta, two bounds for each direction.
  const double error_each = error / (4.0 * static_cast<double>(deltas.size()));
  const double z = std::sqrt(-2 * std::log(error_each));  // at least the normal quantile
  std::vector<MeasuredEpsilon> measured;
  for (const double delta : deltas) measured.push_back({delta, 0, {}});
  for (const bool is_above : {true, false}) {
    const std::vector<TellingEvent> events = Events(choose_p, choose_q, is_above);
    for (MeasuredEpsilon& row : measured) {
      const TellingEvent chosen = Choose(events, row.delta, z);
      const TellingEvent event = Count(count_p, count_q, chosen.threshold, is_above);
      const double epsilon =
          LogRatio(LowerProbability(event.trials, event.likely_hits, error_each),
                   UpperProbability(event.trials, event.unlikely_hits, error_each), row.delta);
      if (epsilon <= row.epsilon_lower && row.event.trials != 0) continue;
      row.epsilon_lower = std::max(epsilon, 0.0);
      row.event = event;
    }
  }
  return measured;
}

}  // namespace sotto::server
