#include "published/sample_level.h"

#include <cmath>

#include "accounting/arguments.h"
#include "base/names.h"

namespace sotto::privacy {
namespace {

constexpr int64_t kMaxCount = 1000000000;
constexpr int64_t kMaxLocalSteps = 1000000;

void ValidateTraining(const NoisyTraining& training) {
  Require(training.devices >= 1 && training.devices <= kMaxCount, "devices", training.devices,
          "in [1, 10^9]");
  Require(training.participants == training.devices, "participants", training.participants,
          "all of the devices, in every round");
  Require(training.rounds >= 1 && training.rounds <= kMaxCount, "rounds", training.rounds,
          "in [1, 10^9]");
  Require(training.local_steps >= 1 && training.local_steps <= kMaxLocalSteps, "local_steps",
          training.local_steps, "in [1, 10^6]");
  RequirePositive(training.learning_rate, "learning_rate");
  Require(training.momentum == 0, "momentum", training.momentum, "0");
  RequirePositive(training.gradient_clip_l2, "gradient_clip_l2");
  RequirePositive(training.noise_sigma, "noise_sigma");
}

// The mu of one round in which a sample moves its device's model by 2V.
double MuOfTwoClips(const NoisyTraining& training) {
  return 2 * training.gradient_clip_l2 /
         (std::sqrt(static_cast<double>(training.devices)) * training.noise_sigma);
}

// An upper bound on the square root of 1 + 1/4 + ... + 1/T^2.
double RootOfFallingRounds(const NoisyTraining& training) {
  return std::sqrt(2 - 1 / static_cast<double>(training.rounds));
}

// sqrt((r + 1) / (r - 1) * (r^T - 1) / (r^T + 1)) for ln r.
double ConvergentRoot(double log_r, const NoisyTraining& training) {
  const double half = log_r / 2;
  return std::sqrt(std::tanh(half * static_cast<double>(training.rounds)) / std::tanh(half));
}

}  // namespace

const char* Name(RateSchedule schedule) {
  constexpr Named<RateSchedule> kNames[] = {{RateSchedule::kConstant, "constant"},
                                            {RateSchedule::kCyclic, "cyclic"},
                                            {RateSchedule::kStagewise, "stagewise"},
                                            {RateSchedule::kContinuous, "continuous"}};
  return NameIn(kNames, schedule);
}

void NoisyFedAvg::Validate() const { ValidateTraining(training); }

void NoisyFedProx::Validate() const {
  ValidateTraining(training);
  Require(proximal > 0 && proximal * training.learning_rate <= 1, "proximal", proximal,
          "above 0 and at most 1 / learning_rate");
}

PublishedMu PublishedNoisyFedAvg(const NoisyFedAvg& method, double smoothness, double constant) {
  method.Validate();
  RequirePositive(smoothness, "smoothness");
  const NoisyTraining& training = method.training;
  const auto steps = static_cast<double>(training.local_steps);
  const double unit = MuOfTwoClips(training);
  switch (method.schedule) {
    case RateSchedule::kConstant:
      return {unit * training.learning_rate * steps *
              ConvergentRoot(steps * std::log1p(training.learning_rate * smoothness), training)};
    case RateSchedule::kCyclic:
      Require(constant >= 1 && std::isfinite(constant), "constant", constant,
              "finite and at least 1");
      return {unit * constant * std::log1p(steps) *
              ConvergentRoot(constant * training.learning_rate * smoothness * std::log1p(steps),
                             training)};
    case RateSchedule::kStagewise:
      return {unit * training.learning_rate * steps * RootOfFallingRounds(training)};
    case RateSchedule::kContinuous:
      break;
  }
  Require(constant > 1 && std::isfinite(constant), "constant", constant, "finite and above 1");
  return {unit * constant * RootOfFallingRounds(training)};
}

PublishedMu PublishedNoisyFedProx(const NoisyFedProx& method, double smoothness) {
  method.Validate();
  Require(smoothness > 0 && smoothness < method.proximal, "smoothness", smoothness,
          "above 0 and below proximal");
  const double log_r = -std::log1p(-smoothness / method.proximal);
  return {MuOfTwoClips(method.training) / method.proximal * ConvergentRoot(log_r, method.training)};
}

}  // namespace sotto::privacy
