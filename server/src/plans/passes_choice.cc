#include "plans/passes_choice.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "plans/turns.h"

namespace sotto::privacy {
namespace {

constexpr int64_t kParticipations[] = {1, 2, 3, 4, 5, 6, 8, 10};

constexpr double kChance = 0.1;         // of ten classes
constexpr double kLeastMeasured = 0.3;  // ratio

// 1, 2, 5, 10, 20, 50, ... up to half of the devices, and the default; above the colluders.
std::vector<int64_t> Cohorts(int64_t devices, const ChoiceLimits& limits) {
  if (limits.cohort) return {*limits.cohort};
  std::vector<int64_t> cohorts = {DefaultCohort(devices)};
  for (int64_t ten = 1; ten <= devices / 2; ten *= 10) {
    for (const int64_t cohort : {ten, 2 * ten, 5 * ten}) {
      if (cohort <= devices / 2) cohorts.push_back(cohort);
    }
  }
  cohorts.erase(std::remove_if(cohorts.begin(), cohorts.end(),
                               [&](int64_t cohort) { return cohort <= limits.colluders; }),
                cohorts.end());
  if (cohorts.empty() && limits.colluders < devices) cohorts.push_back(limits.colluders + 1);
  return cohorts;
}

}  // namespace

double YardstickAccuracy(double ratio, int64_t rounds) {
  RequirePositive(ratio, "ratio");
  Require(rounds >= 1, "rounds", rounds, "at least 1");
  const auto count = static_cast<double>(rounds);
  const double x = count / (ratio * ratio);
  const double without_noise = 0.84 - 0.957 * std::pow(count, -0.84);
  const double above_chance = without_noise - 0.00116 * x / (1 + 0.0028 * x) - kChance;
  return kChance + std::max(0.0, above_chance) * std::min(1.0, ratio / kLeastMeasured);
}

std::vector<PassesChoice> BestChoices(double mu, int64_t devices, int64_t dimension,
                                      const ChoiceLimits& limits) {
  std::vector<int64_t> participations(std::begin(kParticipations), std::end(kParticipations));
  if (limits.participations) participations = {*limits.participations};
  std::vector<PassesChoice> best;
  for (const int64_t turns : participations) {
    PassesChoice chosen;
    for (const int64_t cohort : Cohorts(devices, limits)) {
      PassesChoice choice = {cohort, turns, RoundsFor(turns, cohort, devices)};
      if (choice.rounds < 1 || (choice.rounds > kMostProposedRounds && !limits.cohort)) continue;
      choice.ratio = SignalToNoise(mu, devices, cohort, dimension);
      choice.yardstick = YardstickAccuracy(choice.ratio, choice.rounds);
      const bool is_better = choice.yardstick > chosen.yardstick ||
                             (choice.yardstick == chosen.yardstick && choice.ratio > chosen.ratio);
      if (is_better) chosen = choice;
    }
    if (chosen.cohort > 0) best.push_back(chosen);
  }
  return best;
}

size_t Recommended(const std::vector<PassesChoice>& choices) {
  Require(!choices.empty(), "choices", 0, "at least one");
  double best = 0;
  for (const PassesChoice& choice : choices) best = std::max(best, choice.yardstick);
  const auto found = std::find_if(choices.begin(), choices.end(), [&](const PassesChoice& choice) {
    return choice.yardstick >= best - kGoodEnough;
  });
  return static_cast<size_t>(found - choices.begin());
}

Usefulness UsefulnessOf(double ratio) {
  if (ratio < kLeastMeasured) return Usefulness::kNone;
  if (ratio < 0.75) return Usefulness::kPoor;
  return ratio < 1.5 ? Usefulness::kFair : Usefulness::kGood;
}

const char* Name(Usefulness usefulness) {
  constexpr const char* kNames[] = {"none", "poor", "fair", "good"};
  return kNames[static_cast<int>(usefulness)];
}

Needs NeedsForUse(double mu, double delta, int64_t devices, int64_t cohort, int64_t dimension) {
  const double product = static_cast<double>(devices) * static_cast<double>(cohort);
  Needs needs;
  needs.devices =
      static_cast<int64_t>(std::ceil(std::sqrt(2 * DevicesTimesCohortFor(1, mu, dimension))));
  needs.dimension = static_cast<int64_t>(mu * mu * product / 4);
  needs.epsilon = GdpEpsilon(2 * std::sqrt(static_cast<double>(dimension) / product), delta);
  return needs;
}

}  // namespace sotto::privacy
