#include "plans/schedule.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"

namespace sotto::privacy {
namespace {

constexpr int64_t kMostSteps = 65535;

double NoiseFactor(double decay, int64_t round) {
  return decay == 1 ? 1.0 : std::pow(decay, static_cast<double>(round) / 4);
}

void ValidateBound(const StepBound& bound) {
  RequirePositive(bound.gradient_clip, "gradient clip");
  Require(bound.proximal >= 0 && std::isfinite(bound.proximal), "proximal", bound.proximal,
          "finite and at least 0");
  Require(bound.steps >= 1 && bound.steps <= kMostSteps, "local steps", bound.steps,
          "in [1, 65535]");
  RequirePositive(bound.rate.base, "learning rate");
  Require(bound.rate.decay > 0 && bound.rate.decay <= 1, "learning rate decay", bound.rate.decay,
          "in (0, 1]");
  const double first = BoundOf(bound, 0);
  RequirePositive(first, "bound that follows from the local steps");
}

}  // namespace

double BoundOf(const StepBound& training, int64_t round) {
  const auto steps = static_cast<uint64_t>(training.steps);
  const RateInRound rate = training.rate.InRound(static_cast<uint64_t>(round), steps);
  double bound = 0.0;
  for (uint64_t k = 0; k < steps; ++k) {
    const double eta = rate.At(k);
    bound = std::abs(1 - training.proximal * eta) * bound + training.gradient_clip * eta;
  }
  return bound;
}

RoundTerms RoundSchedule::TermsOf(int64_t round_of_plan) const {
  const int64_t round = first_round + round_of_plan;
  RoundTerms terms;
  if (round == 0) return terms;
  terms.noise_factor = NoiseFactor(noise_decay, round);
  if (bound.IsSet()) {
    terms.clip_factor = std::max(BoundOf(bound, round) / BoundOf(bound, 0), kLeastClipFactor);
  }
  return terms;
}

void RoundSchedule::Validate(int64_t rounds) const {
  Require(noise_decay > 0 && noise_decay <= 1, "noise decay", noise_decay, "in (0, 1]");
  Require(
      NoiseFactor(noise_decay, first_round + std::max<int64_t>(rounds, 1) - 1) >= kLeastNoiseFactor,
      "noise decay", noise_decay,
      "larger for so many rounds: the last round has less than 10^-6 of the first round's noise");
  if (bound.IsSet()) ValidateBound(bound);
}

}  // namespace sotto::privacy
