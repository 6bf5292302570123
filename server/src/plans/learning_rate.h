// The learning rate of local SGD as a function of round and step. Part of sotto::server/plans.
//
// With the base rate mu, the decay gamma, round t = 0, 1, ..., local step k = 0, 1, ..., K - 1:
//   constant                mu gamma^t                     DP-Fed-LS, Section 5.1
//   inverse-step            mu gamma^t / (k + 1)           f-DP, "cyclically decaying"
//   inverse-round           mu gamma^t / (t + 1)           f-DP, "stage-wise decaying"
//   inverse-all-steps       mu gamma^t / (t K + k + 1)     f-DP, "iteratively decaying"
//   inverse-sqrt-round      mu gamma^t / sqrt(t + 1)
//   inverse-sqrt-step       mu gamma^t / sqrt(k + 1)
//   inverse-sqrt-all-steps  mu gamma^t / sqrt(t K + k + 1) decentralised DP-SGD, its baseline
// inverse-all-steps with mu = 1 / (a gamma) is the step 1 / (a gamma t) of Theorem 4 of
// decentralised DP-SGD. f-DP: Sun, Shen, Tao (2024), Section 4.2; its schedules have gamma = 1.
//
// The server resolves t, and a device k: see RateInRound. Pure functions, safe from any thread.
#pragma once

#include <cstdint>

namespace sotto::privacy {

// Stored by name. To add one: a value, and its row in learning_rate.cc.
enum class LearningRateSchedule {
  kConstant,
  kInverseStep,
  kInverseRound,
  kInverseAllSteps,
  kInverseSqrtRound,
  kInverseSqrtStep,
  kInverseSqrtAllSteps,
};

const char* Name(LearningRateSchedule schedule);  // "inverse-step"; "unknown" beyond the list

// The p of RateInRound. The SDK's RatePower has the same values.
enum class Power : uint8_t { kZero = 0, kHalf = 1, kOne = 2 };

// The rate within a round: learning_rate / (first + k)^p, or learning_rate if p is 0. A device
// computes the same in float32: TrainingOptions::Rate().
struct RateInRound {
  double learning_rate = 0;
  uint64_t first = 0;  // 0 if and only if p is 0
  Power power = Power::kZero;

  double At(uint64_t step) const;
};

struct LearningRate {
  double base = 0.1;   // mu, >= 0
  double decay = 1.0;  // gamma, in (0, 1]
  LearningRateSchedule schedule = LearningRateSchedule::kConstant;

  // Whether the rate depends on K: then every device of a round takes the same number of steps.
  bool CountsAllSteps() const;

  //   steps  K, local steps of a round; not used unless CountsAllSteps()
  RateInRound InRound(uint64_t round, uint64_t steps) const;
  double Rate(uint64_t round, uint64_t step, uint64_t steps) const {
    return InRound(round, steps).At(step);
  }
};

}  // namespace sotto::privacy
