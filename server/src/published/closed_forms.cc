#include "published/closed_forms.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "accounting/arguments.h"

namespace sotto::privacy {
namespace {

constexpr double kOrderFactor = 2.0 / 3;
// Ensures that the square of a square root is not below the floor.
constexpr double kRounding = 1e-14;
constexpr int kHalvings = 200;  // at most; the precision of a double may end the search

double Constant(Sampling sampling) { return sampling == Sampling::kUniform ? 3.5 : 2.0; }

double NoiseFloor(Sampling sampling) { return sampling == Sampling::kUniform ? 2.0 / 3 : 5.0 / 9; }

[[noreturn]] void ThrowInfeasible(const ClosedFormRounds& rounds, SideCondition failed) {
  std::ostringstream message;
  message << "Theorem " << (rounds.sampling == Sampling::kUniform ? 1 : 2)
          << " of DP-Fed-LS does not apply: ";
  if (failed == SideCondition::kNoiseFloor) {
    message << "z^2 >= " << NoiseFloor(rounds.sampling)
            << " fails wherever its condition on the order alpha holds";
  } else {
    message << "alpha - 1 <= 2/3 z^2 ln(1 / (q alpha (1 + z^2))) fails for every lambda";
  }
  throw InfeasibleClosedForm(failed, message.str());
}

// Bisects [good, bad] until no double lies between the ends. Returns the good end.
template <typename IsGood>
double Bisect(double good, double bad, IsGood is_good) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = good + (bad - good) / 2;
    if (middle == good || middle == bad) break;
    (is_good(middle) ? good : bad) = middle;
  }
  return good;
}

// The noise that each lambda needs for one target. The parameter is u = alpha - 1 - L / epsilon > 0
// instead of lambda. With b = L / epsilon, M = c q^2 T / epsilon
//   alpha = 1 + b + u,  lambda = M alpha / x,  x(u) = M (u + 1 + 2b + b(1 + b) / u).
// x falls up to u = sqrt(b (1 + b)) and rises after it. After it alpha is larger and the noise no
// smaller, so only the first part matters. In terms of u, kOrder is slack(u) >= 0,
//   slack(u) = -ln q - ln alpha - ln(1 + x) - u / (2/3 M alpha),
// which rises to one maximum and then falls. Proof: its derivative, multiplied by its positive
// denominators, is a polynomial in u whose coefficients change their sign once (Descartes' rule of
// signs).
class NoiseCurve {
 public:
  NoiseCurve(const ClosedFormRounds& rounds, double epsilon)
      : log_rate_(std::log(rounds.rate)),
        base_(-std::log(rounds.delta) / epsilon),
        scale_(Constant(rounds.sampling) * rounds.rate * rounds.rate *
               static_cast<double>(rounds.rounds) / epsilon) {}

  double Alpha(double u) const { return 1 + base_ + u; }
  double Noise(double u) const { return scale_ * (u + 1 + 2 * base_ + Product() / u); }
  double Lambda(double u) const { return scale_ * Alpha(u) / Noise(u); }

  double Slack(double u) const {
    return -log_rate_ - std::log(Alpha(u)) - std::log1p(Noise(u)) -
           u / (kOrderFactor * scale_ * Alpha(u));
  }

  // The u of the smallest noise.
  double Cheapest() const { return std::sqrt(Product()); }

  // The largest u <= Cheapest() whose noise is at least the floor: a root of u^2 - 2 h u + b (1 +
  // b).
  double AboveFloor(double floor) const {
    if (Noise(Cheapest()) >= floor) return Cheapest();
    const double half = (floor / scale_ - 1 - 2 * base_) / 2;
    return (1 - kRounding) * Product() / (half + std::sqrt(half * half - Product()));
  }

  // The u in (0, limit] of the largest slack.
  double Slackest(double limit) const {
    if (SlackRises(limit)) return limit;
    double rising = limit;
    while (!SlackRises(rising)) rising /= 2;
    return Bisect(rising, limit, [this](double u) { return SlackRises(u); });
  }

 private:
  double Product() const { return base_ * (1 + base_); }

  bool SlackRises(double u) const {
    const double alpha = Alpha(u);
    const double noise_slope = scale_ * (1 - Product() / (u * u));
    return -1 / alpha - noise_slope / (1 + Noise(u)) -
               (1 + base_) / (kOrderFactor * scale_ * alpha * alpha) >=
           0;
  }

  double log_rate_;
  double base_;   // L / epsilon
  double scale_;  // M
};

// The u of the least noise that satisfies both side conditions.
double BestFeasible(const ClosedFormRounds& rounds, const NoiseCurve& curve) {
  const double limit = curve.AboveFloor(NoiseFloor(rounds.sampling));
  if (curve.Slack(limit) >= 0) return limit;
  const double slackest = curve.Slackest(limit);
  if (curve.Slack(slackest) < 0) {
    const bool holds_below = curve.Slack(curve.Slackest(curve.Cheapest())) >= 0;
    ThrowInfeasible(rounds, holds_below ? SideCondition::kNoiseFloor : SideCondition::kOrder);
  }
  return Bisect(slackest, limit, [&](double u) { return curve.Slack(u) >= 0; });
}

// The largest order that kOrder allows at this noise.
double LargestOrder(const ClosedFormRounds& rounds, double x) {
  const auto excess = [&](double alpha) {
    return alpha - 1 + kOrderFactor * x * std::log(rounds.rate * alpha * (1 + x));
  };
  if (excess(1) >= 0) ThrowInfeasible(rounds, SideCondition::kOrder);
  const double outside = 1 - excess(1);
  return Bisect(1, outside, [&](double alpha) { return excess(alpha) <= 0; });
}

}  // namespace

void ClosedFormRounds::Validate() const {
  Require(Accounted(sampling) != Sampling::kNone, "sampling", Name(sampling), "uniform or poisson");
  Require(rate > 0 && rate <= 1, "sampling rate", rate, "in (0, 1]");
  Require(this->rounds >= 1, "number of rounds", this->rounds, "at least 1");
  RequireDelta(delta);
}

ClosedForm ClosedFormForEpsilon(const ClosedFormRounds& rounds, double epsilon) {
  rounds.Validate();
  RequirePositive(epsilon, "epsilon");
  const NoiseCurve curve(rounds, epsilon);
  const double u = BestFeasible(rounds, curve);
  return {std::sqrt(curve.Noise(u)), epsilon, curve.Lambda(u), curve.Alpha(u)};
}

ClosedForm ClosedFormForNoise(const ClosedFormRounds& rounds, double noise_multiplier) {
  rounds.Validate();
  RequirePositive(noise_multiplier, "noise multiplier");
  const double x = noise_multiplier * noise_multiplier;
  if (x < NoiseFloor(rounds.sampling)) ThrowInfeasible(rounds, SideCondition::kNoiseFloor);
  // epsilon = slope * alpha + L / (alpha - 1). The first term is lambda * epsilon.
  const double slope = Constant(rounds.sampling) * rounds.rate * rounds.rate *
                       static_cast<double>(rounds.rounds) / x;
  const double log_delta = std::log(rounds.delta);
  const double order = std::min(1 + std::sqrt(-log_delta / slope), LargestOrder(rounds, x));
  const double epsilon = slope * order - log_delta / (order - 1);
  return {noise_multiplier, epsilon, slope * order / epsilon, order};
}

}  // namespace sotto::privacy
