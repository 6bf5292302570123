// A cell's figure beside the paper's; verdicts.h says what each function does.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "experiment/student.h"
#include "experiment/verdicts.h"

namespace sotto::server {
namespace {

// A variance of a mean, with its degrees of freedom; infinite for one that is not estimated.
struct MeanVariance {
  double variance = 0;
  double freedom = 0;
};

double Of(size_t count) { return static_cast<double>(count); }

MeanVariance VarianceOf(double deviation, double count, double freedom) {
  return {deviation * deviation / count, freedom};
}

// Welch and Satterthwaite's degrees of freedom of a sum of two variances.
double FreedomOf(const MeanVariance& a, const MeanVariance& b) {
  const double sum = a.variance + b.variance;
  const double below = a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom;
  return below > 0 ? std::max(1.0, sum * sum / below) : std::min(a.freedom, b.freedom);
}

AgainstPaper Tested(double difference, double variance, double freedom) {
  AgainstPaper result;
  result.difference = difference;
  result.freedom = freedom;
  const double error = std::sqrt(variance);
  result.half_width = StudentQuantile(0.975, freedom) * error;
  result.differs = std::fabs(difference) > result.half_width;
  const double distance = std::fabs(difference);
  result.p = error > 0      ? std::min(1.0, 2 * StudentTail(distance / error, freedom))
             : distance > 0 ? 0
                            : 1;
  return result;
}

}  // namespace

bool CanPredict(const MeanDeviation& here, const PaperFigure& paper, std::optional<uint64_t> runs) {
  return here.count > 1 || (paper.deviation && runs.value_or(1) > 1);
}

AgainstPaper PredictionOf(const MeanDeviation& here, const PaperFigure& paper,
                          std::optional<uint64_t> runs) {
  const double difference = here.mean - paper.mean;
  const double count = static_cast<double>(runs.value_or(1));
  const bool is_spread_known = paper.deviation && count > 1;
  const std::string one = runs ? "" : "one run of the paper";
  if (here.count < 2) {  // the paper's deviation serves both
    const double spread = *paper.deviation * *paper.deviation;
    AgainstPaper result = Tested(difference, spread * (1 + 1 / count), count - 1);
    result.assumed = "our runs vary as the paper's";
    return result;
  }
  const MeanVariance ours = VarianceOf(here.deviation, Of(here.count), Of(here.count - 1));
  if (is_spread_known) {
    const MeanVariance theirs = VarianceOf(*paper.deviation, count, count - 1);
    return Tested(difference, ours.variance + theirs.variance, FreedomOf(ours, theirs));
  }
  const double spread = here.deviation * here.deviation;
  AgainstPaper result = Tested(difference, ours.variance + spread / count, ours.freedom);
  result.assumed = one + (one.empty() ? "" : ", and ") + "the paper's runs vary as ours";
  return result;
}

AgainstPaper DigitsOf(double here, const PaperFigure& paper) {
  AgainstPaper result;
  result.is_exact = true;
  result.difference = here - paper.mean;
  result.differs = fmt::format("{:.{}f}", here, paper.decimals) !=
                   fmt::format("{:.{}f}", paper.mean, paper.decimals);
  result.p = result.differs ? 0 : 1;
  return result;
}

}  // namespace sotto::server
