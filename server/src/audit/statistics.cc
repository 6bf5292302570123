#include "audit/statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "accounting/binomial.h"
#include "base/mean_deviation.h"

namespace sotto::server {
namespace {

constexpr double kNormal95 = 1.959963984540054;

std::vector<double> Sorted(Span<const double> scores) {
  std::vector<double> sorted(scores.begin(), scores.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

// How many of `sorted` are below the score, a tie counting half.
double Below(const std::vector<double>& sorted, double score) {
  const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), score);
  return static_cast<double>(first - sorted.begin()) + static_cast<double>(last - first) / 2;
}

// The share of `others` below each of the scores: DeLong's structural components.
std::vector<double> Placements(const std::vector<double>& scores,
                               const std::vector<double>& others) {
  std::vector<double> shares;
  for (const double score : scores) {
    shares.push_back(Below(others, score) / static_cast<double>(others.size()));
  }
  return shares;
}

double Advantage(const std::vector<double>& members, const std::vector<double>& others) {
  const auto share_from = [](const std::vector<double>& sorted, double score) {
    const auto first = std::lower_bound(sorted.begin(), sorted.end(), score);
    return static_cast<double>(sorted.end() - first) / static_cast<double>(sorted.size());
  };
  double most = 0;
  for (const double score : members) {
    most = std::max(most, share_from(members, score) - share_from(others, score));
  }
  return most;
}

}  // namespace

Auc MeasureAuc(Span<const double> members, Span<const double> others) {
  const auto is_nan = [](double score) { return std::isnan(score); };
  if (members.size() < 2 || others.size() < 2 ||
      std::any_of(members.begin(), members.end(), is_nan) ||
      std::any_of(others.begin(), others.end(), is_nan)) {
    throw std::invalid_argument(
        "an AUC takes at least two scores of members and two of others, all of them numbers");
  }
  const std::vector<double> m = Sorted(members);
  const std::vector<double> o = Sorted(others);
  const std::vector<double> of_members = Placements(m, o);
  Auc auc;
  const MeanDeviation placed = MeanDeviationOf(of_members);
  const double of_others = MeanDeviationOf(Placements(o, m)).standard_error();
  auc.area = placed.mean;
  const double deviation = std::hypot(placed.standard_error(), of_others);
  auc.lower = std::max(auc.area - kNormal95 * deviation, 0.0);
  auc.upper = std::min(auc.area + kNormal95 * deviation, 1.0);
  auc.advantage = Advantage(m, o);
  return auc;
}

double LowerProbability(int64_t trials, int64_t successes, double error) {
  if (trials < 1 || trials > privacy::kMaxTrials || successes < 0 || successes > trials ||
      !(error > 0 && error < 0.5)) {
    throw std::invalid_argument(
        "a confidence bound takes 1 to 10^9 trials, at most as many successes, and an error "
        "probability between 0 and 0.5");
  }
  if (successes == 0) return 0;
  const double log_error = std::log(error);
  // Pr[Bin(trials, p) >= successes] rises with p. `low` always satisfies that it is at most
  // `error`.
  double low = 0;
  double high = 1;
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2;
    (privacy::LogBinomialTail(trials, middle, successes - 1) <= log_error ? low : high) = middle;
  }
  return low;
}

double UpperProbability(int64_t trials, int64_t successes, double error) {
  return 1 - LowerProbability(trials, trials - successes, error);
}

}  // namespace sotto::server
