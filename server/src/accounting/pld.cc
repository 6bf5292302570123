#include "accounting/pld.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "accounting/arguments.h"
#include "accounting/grouping.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

constexpr double kMinRate = 1e-9;
constexpr double kMaxRounds = 1e10;
constexpr size_t kFewestGroups = 4;
constexpr double kMinPldDelta = 1e-200;  // masses far below delta must not underflow
constexpr double kLogTailShare = -36.0;  // ln of the share of delta for the cut tails of all losses

// What limits the time.
struct Limits {
  size_t most_settings;  // each by itself
  size_t groups;         // over all directions, for more settings than that
  double steps;          // of all windows together
  double panels;         // of all discretisations together
};

Limits LimitsFor(Effort effort) {
  if (effort == Effort::kFull) return {64, 48, 2 * kMaxWindow, 3e5};
  return {8, 12, kMaxWindow / 4, 4e4};
}

bool HasSampling(const std::vector<GaussianRounds>& rounds, Sampling sampling) {
  return std::any_of(rounds.begin(), rounds.end(),
                     [&](const GaussianRounds& r) { return r.sampling == sampling; });
}

std::vector<LossPair> Pairs(const std::vector<GaussianRounds>& rounds) {
  if (HasSampling(rounds, Sampling::kUniform)) return {LossPair::kReplace};
  if (HasSampling(rounds, Sampling::kPoisson)) return {LossPair::kRemove, LossPair::kAdd};
  return {LossPair::kRemove};  // the Gaussian's loss is the same in both directions
}

bool HasEffect(const GaussianRounds& r) {
  return r.rounds > 0 && (r.sampling == Sampling::kNone || r.sampling_rate > 0);
}

bool IsWithinReach(const GaussianRounds& r) {
  return r.noise_multiplier >= kMinLossNoiseMultiplier &&
         (r.sampling == Sampling::kNone || r.sampling_rate >= kMinRate);
}

std::vector<GaussianRounds> Effective(const std::vector<GaussianRounds>& rounds) {
  std::vector<GaussianRounds> effective = Canonical(rounds);
  effective.erase(std::remove_if(effective.begin(), effective.end(),
                                 [](const GaussianRounds& r) { return !HasEffect(r); }),
                  effective.end());
  return effective;
}

double Total(const std::vector<GaussianRounds>& rounds) {
  double total = 0.0;
  for (const GaussianRounds& r : rounds) total += static_cast<double>(r.rounds);
  return total;
}

std::vector<LossGroup> LossGroups(const std::vector<GaussianRounds>& rounds, LossPair pair,
                                  double log_tail) {
  std::vector<LossGroup> groups;
  for (const GaussianRounds& r : rounds) {
    groups.push_back({MakeRoundLoss(r, pair, log_tail), r.rounds});
  }
  return groups;
}

// The panels of all discretisations together.
double Panels(const std::vector<GaussianRounds>& rounds, const std::vector<LossPair>& pairs,
              double log_tail) {
  double panels = 0.0;
  for (const LossPair pair : pairs) {
    for (const LossGroup& group : LossGroups(rounds, pair, log_tail)) {
      panels += PanelCount(group.loss);
    }
  }
  return panels;
}

}  // namespace

bool Pld::Supports(const std::vector<GaussianRounds>& rounds, double delta) {
  const std::vector<GaussianRounds> effective = Effective(rounds);
  return std::all_of(effective.begin(), effective.end(), IsWithinReach) &&
         Total(effective) <= kMaxRounds && delta >= kMinPldDelta &&
         !(HasSampling(effective, Sampling::kUniform) &&
           HasSampling(effective, Sampling::kPoisson));
}

Pld::Pld(const std::vector<GaussianRounds>& rounds, double delta, Effort effort) {
  RequireDelta(delta);
  std::vector<GaussianRounds> effective = Effective(rounds);
  is_supported_ = Supports(effective, delta);
  if (!is_supported_ || effective.empty()) return;
  const Limits limits = LimitsFor(effort);
  const std::vector<LossPair> pairs = Pairs(effective);
  const double log_tail = std::log(delta) - std::log(Total(effective)) + kLogTailShare;
  if (effective.size() > limits.most_settings) Group(limits.groups / pairs.size(), &effective);
  const double affordable = limits.panels / Panels(effective, pairs, log_tail);
  if (affordable < 1 && effective.size() > kFewestGroups) {
    const double most = affordable * static_cast<double>(effective.size());
    Group(std::max(static_cast<size_t>(most), kFewestGroups), &effective);
  }
  is_supported_ = Supports(effective, delta);
  if (!is_supported_) return;
  const double most_steps = limits.steps / static_cast<double>(pairs.size() * effective.size());
  for (const LossPair pair : pairs) {
    directions_.emplace_back(LossGroups(effective, pair, log_tail), delta, most_steps);
  }
}

void Pld::Group(size_t most, std::vector<GaussianRounds>* rounds) {
  *rounds = Grouped(*rounds, most);
  is_grouped_ = true;
}

double Pld::Epsilon(double delta, Bound bound) const {
  RequireDelta(delta);
  if (!is_supported_) return bound == Bound::kUpper ? kInfinity : 0.0;
  if (is_grouped_ && bound == Bound::kLower) return 0.0;
  double epsilon = 0.0;
  for (const LossSum& sum : directions_) {
    epsilon = std::max(epsilon,
                       bound == Bound::kUpper ? sum.UpperEpsilon(delta) : sum.LowerEpsilon(delta));
  }
  return epsilon;
}

EpsilonAt ComposePld(const std::vector<GaussianRounds>& rounds, double delta, Effort effort) {
  const auto pld = std::make_shared<const Pld>(rounds, delta, effort);
  const bool has_true_lower_bound =
      pld->HasLowerBound() && !HasSampling(rounds, Sampling::kUniform);
  return [pld, has_true_lower_bound](double at) {
    AccountedEpsilon result;
    result.winner = "pld";
    result.epsilon = pld->Epsilon(at);
    const double lower = std::min(pld->Epsilon(at, Bound::kLower), result.epsilon);
    result.numeric_error = result.epsilon - lower;
    if (has_true_lower_bound) result.epsilon_lower = lower;
    return result;
  };
}

}  // namespace sotto::privacy
