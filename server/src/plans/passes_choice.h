// Cohort and participations for a fleet, a net and a budget under Sampling::kPasses. Part of
// sotto::server/plans.
//
// The signal to noise ratio R of a run (turns.h) does not depend on K, and grows with the cohort B.
// The number of rounds K N / B decides how far a training gets. So B buys signal, K buys steps.
//
// Pure functions, safe from any thread; std::invalid_argument names an argument outside its range.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sotto::privacy {

// The test accuracy of softmax-784-10 on Fashion-MNIST, 50 samples a device, after this many rounds
// at this R: a rule for the order of plans, not a promise for another net or other data.
//   0.84 - 0.957 T^-0.84 - 0.00116 x / (1 + 0.0028 x),   x = T / R^2
// The first two terms are the same training without noise. Fitted to 53 runs: 1,000 and 10,000
// devices, cohorts 50 to 1,000, K 1 to 10, epsilon 1 to 8, 10 to 100 rounds. Root of the mean
// square of the differences 0.009, the largest 0.031 (at epsilon 1, where seeds differ by as much).
// Below R = 0.3 nothing was measured: what is above chance, 0.1, then falls with R.
//   ratio   R > 0
//   rounds  T >= 1
double YardstickAccuracy(double ratio, int64_t rounds);

// More rounds are not proposed: up to 100 were measured.
constexpr int64_t kMostProposedRounds = 200;

struct PassesChoice {
  int64_t cohort = 0;
  int64_t participations = 0;
  int64_t rounds = 0;
  double ratio = 0;      // R
  double yardstick = 0;  // YardstickAccuracy()
};

// What is fixed beforehand.
struct ChoiceLimits {
  std::optional<int64_t> cohort;
  std::optional<int64_t> participations;
  int64_t colluders = 1;  // a cohort has more devices than these
};

// For each number of participations the cohort with the best yardstick, in ascending order. Cohorts
// are at most half of the devices, with at most kMostProposedRounds, or what is fixed. Empty if no
// cohort is larger than the colluders are many.
//   mu  of the budget
std::vector<PassesChoice> BestChoices(double mu, int64_t devices, int64_t dimension,
                                      const ChoiceLimits& limits);

// The fewest participations whose yardstick is within kGoodEnough of the best: each one costs a
// device a download and a training. Index into the choices, of which there is at least one.
size_t Recommended(const std::vector<PassesChoice>& choices);
constexpr double kGoodEnough = 0.012;

// Words for a ratio. Measured: .34, .63, .90, 1.65 gave accuracies of .60, .71, .745, .78.
enum class Usefulness { kNone, kPoor, kFair, kGood };
Usefulness UsefulnessOf(double ratio);
const char* Name(Usefulness usefulness);  // "none", "poor", "fair", "good"

// What would bring a run to R = 1, each by itself.
struct Needs {
  int64_t devices = 0;    // of which half are a cohort
  int64_t dimension = 0;  // of a smaller net, for these devices; 0: none is small enough
  double epsilon = 0;     // for this net and these devices
};
Needs NeedsForUse(double mu, double delta, int64_t devices, int64_t cohort, int64_t dimension);

}  // namespace sotto::privacy
