#include "privacy/calibration.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "privacy/arguments.h"
#include "privacy/binomial.h"

namespace sotto::privacy {
namespace {

constexpr double kMaxNoiseMultiplier = 1e9;
constexpr double kTolerance = 1e-9;  // of ln(noise_sigma)

std::string Message(double target, double smallest) {
  std::ostringstream message;
  message << "epsilon " << target << " is out of reach for this plan; the smallest attainable is "
          << smallest;
  return message.str();
}

// One trial of the search: ln(noise_sigma) and ln(epsilon / target), which falls as the noise
// grows.
struct Trial {
  double log_sigma;
  double excess;
};

class Search {
 public:
  Search(const Plan& plan, double target, const std::vector<SpentRounds>& before)
      : plan_(plan), target_(target), before_(before) {}

  Trial At(double log_sigma) {
    plan_.noise_sigma = std::exp(log_sigma);
    return {log_sigma, std::log(Account(plan_, plan_.rounds, before_).epsilon / target_)};
  }

  // Shrinks a bracket, too little noise to enough of it, to the tolerance; returns the upper end.
  double Shrink(Trial low, Trial high) {
    int lows_in_a_row = 0;
    int highs_in_a_row = 0;
    while (high.log_sigma - low.log_sigma > kTolerance) {
      const Trial middle = At(Between(low, high));
      // The Illinois rule: an end that stays twice loses half of its weight, or it might stay for
      // ever.
      if (middle.excess > 0) {
        low = middle;
        highs_in_a_row = 0;
        if (++lows_in_a_row > 1) high.excess /= 2;
      } else {
        high = middle;
        lows_in_a_row = 0;
        if (++highs_in_a_row > 1) low.excess /= 2;
      }
    }
    return high.log_sigma;
  }

 private:
  // The secant's zero, kept off both ends so that the last step brackets the root within the
  // tolerance; the middle while an end is so far off that a secant says nothing.
  static double Between(const Trial& low, const Trial& high) {
    const double width = high.log_sigma - low.log_sigma;
    const double fall = low.excess - high.excess;
    if (!(fall < 4)) return low.log_sigma + width / 2;
    const double margin = std::min(0.45 * kTolerance, width / 2);
    return std::clamp(low.log_sigma + width * low.excess / fall, low.log_sigma + margin,
                      high.log_sigma - margin);
  }

  Plan plan_;
  double target_;
  const std::vector<SpentRounds>& before_;
};

}  // namespace

UnattainableEpsilon::UnattainableEpsilon(double target, double smallest)
    : std::runtime_error(Message(target, smallest)), smallest_(smallest) {}

double Calibrate(const Plan& plan, double target_epsilon, const std::vector<SpentRounds>& before) {
  Require(target_epsilon > 0 && target_epsilon <= 1e6, "target epsilon", target_epsilon,
          "in (0, 10^6]");
  Search search(plan, target_epsilon, before);
  const double log_unit = std::log(SigmaForNoiseMultiplier(plan, 1.0));
  const double log_max = log_unit + std::log(kMaxNoiseMultiplier);
  Trial inner = search.At(log_unit);  // the end of the bracket nearer to the start
  const bool needs_more = inner.excess > 0;
  for (double step = 1;; step *= 2) {
    const Trial outer = search.At(std::min(inner.log_sigma + (needs_more ? step : -step), log_max));
    if (needs_more && outer.excess <= 0) return std::exp(search.Shrink(inner, outer));
    if (!needs_more && outer.excess > 0) return std::exp(search.Shrink(outer, inner));
    if (outer.log_sigma == log_max) {
      throw UnattainableEpsilon(target_epsilon, target_epsilon * std::exp(outer.excess));
    }
    inner = outer;
  }
}

Plan WithPlannedReports(Plan plan, double epsilon) {
  plan.planned_reports = plan.sampling == Sampling::kPoisson ? plan.devices : plan.cohort;
  plan.Validate();
  if (plan.sampling == Sampling::kPoisson) {
    const int64_t cap = PoissonCap(plan.devices, plan.SamplingRate(), plan.rounds, epsilon,
                                   kDeltaShare * plan.delta);
    plan.planned_reports = std::max<int64_t>(cap, 1);
  }
  return plan;
}

Plan PlanForEpsilon(const Plan& plan, double target_epsilon,
                    const std::vector<SpentRounds>& before) {
  Plan fitted = plan;
  fitted.noise_sigma = 0.0;
  fitted = WithPlannedReports(fitted, target_epsilon);
  fitted.noise_sigma = Calibrate(fitted, target_epsilon, before);
  return fitted;
}

FittedPlan PlanForNoiseMultiplier(const Plan& plan, double noise_multiplier) {
  const auto with_cap_for = [&](double epsilon) {
    Plan fitted = plan;
    fitted.noise_sigma = 0.0;
    fitted = WithPlannedReports(fitted, epsilon);
    fitted.noise_sigma = SigmaForNoiseMultiplier(fitted, noise_multiplier);
    return fitted;
  };
  FittedPlan fitted{with_cap_for(kInfinity), 0};  // no draw exceeds this cap
  if (plan.sampling != Sampling::kPoisson) return fitted;
  Plan next = with_cap_for(Account(fitted.plan, plan.rounds).epsilon);
  do {
    fitted = {next, fitted.passes + 1};
    next = with_cap_for(Account(fitted.plan, plan.rounds).epsilon);
  } while (next.planned_reports > fitted.plan.planned_reports);
  return fitted;
}

}  // namespace sotto::privacy
