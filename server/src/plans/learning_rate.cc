#include "plans/learning_rate.h"

#include <cmath>
#include <iterator>

namespace sotto::privacy {
namespace {

// What the base rate is divided by the p-th power of.
enum class Counts { kNothing, kRounds, kSteps, kAllSteps };

struct Row {
  LearningRateSchedule schedule;
  const char* name;
  Counts counts;
  Power power;
};

constexpr Row kRows[] = {
    {LearningRateSchedule::kConstant, "constant", Counts::kNothing, Power::kZero},
    {LearningRateSchedule::kInverseStep, "inverse-step", Counts::kSteps, Power::kOne},
    {LearningRateSchedule::kInverseRound, "inverse-round", Counts::kRounds, Power::kOne},
    {LearningRateSchedule::kInverseAllSteps, "inverse-all-steps", Counts::kAllSteps, Power::kOne},
    {LearningRateSchedule::kInverseSqrtRound, "inverse-sqrt-round", Counts::kRounds, Power::kHalf},
    {LearningRateSchedule::kInverseSqrtStep, "inverse-sqrt-step", Counts::kSteps, Power::kHalf},
    {LearningRateSchedule::kInverseSqrtAllSteps, "inverse-sqrt-all-steps", Counts::kAllSteps,
     Power::kHalf},
};

constexpr bool AreInOrder() {
  for (size_t i = 0; i < std::size(kRows); ++i) {
    if (static_cast<size_t>(kRows[i].schedule) != i) return false;
  }
  return true;
}
static_assert(AreInOrder());

const Row& RowOf(LearningRateSchedule schedule) { return kRows[static_cast<size_t>(schedule)]; }

double ToThe(Power power, uint64_t n) {
  const auto x = static_cast<double>(n);
  if (power == Power::kZero) return 1;
  return power == Power::kHalf ? std::sqrt(x) : x;
}

}  // namespace

const char* Name(LearningRateSchedule schedule) {
  const auto i = static_cast<size_t>(schedule);
  return i < std::size(kRows) ? kRows[i].name : "unknown";
}

double RateInRound::At(uint64_t step) const { return learning_rate / ToThe(power, first + step); }

bool LearningRate::CountsAllSteps() const { return RowOf(schedule).counts == Counts::kAllSteps; }

RateInRound LearningRate::InRound(uint64_t round, uint64_t steps) const {
  const Row& row = RowOf(schedule);
  const double rate = base * std::pow(decay, static_cast<double>(round));
  switch (row.counts) {
    case Counts::kNothing:
      break;
    case Counts::kRounds:
      return {rate / ToThe(row.power, round + 1), 0, Power::kZero};
    case Counts::kSteps:
      return {rate, 1, row.power};
    case Counts::kAllSteps:
      return {rate, round * steps + 1, row.power};
  }
  return {rate, 0, Power::kZero};
}

}  // namespace sotto::privacy
