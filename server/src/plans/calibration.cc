#include "plans/calibration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include "accounting/arguments.h"
#include "accounting/binomial.h"
#include "accounting/grouping.h"
#include "plans/statement.h"

namespace sotto::privacy {
namespace {

constexpr double kMaxNoiseMultiplier = 1e9;
constexpr double kTolerance = 1e-9;       // of ln(noise_sigma)
constexpr int64_t kRoundShare = 100'000;  // numbers of rounds above it are found to one part in it
constexpr int kMostSecants = 60;
constexpr int kMostCaps = 50;
constexpr size_t kMostSettings =
    64;                        // of the rounds for which a noise factor is searched as they are
constexpr size_t kGroups = 8;  // for more settings than that
// The cap on a Poisson draw costs more of delta than kDeltaShare if the colluders are in the draw.
// A larger cap would need more noise, so it grows only beyond this share.
constexpr double kColludersDeltaShare = 0.1;

std::string Message(double target, double smallest) {
  std::ostringstream message;
  message << "epsilon " << target << " is out of reach for this plan; the smallest attainable is "
          << smallest;
  return message.str();
}

// One trial of the search: the logarithm of the noise, and ln(epsilon / target). The latter falls
// as the noise grows.
struct Trial {
  double log_noise;
  double excess;
};

// Looks for the smallest noise whose epsilon is at most the target.
class Search {
 public:
  Search(std::function<double(double noise)> epsilon, double target)
      : epsilon_(std::move(epsilon)), target_(target) {}

  // Starts from a first guess and doubles each step. Never exceeds the largest noise.
  double Run(double start, double first_step, double largest) {
    const double log_max = std::log(largest);
    Trial inner = At(std::min(std::log(start), log_max));  // the bracket end nearer to the start
    const bool needs_more = inner.excess > 0;
    for (double step = first_step;; step *= 2) {  // 16 steps reach the smallest double
      if (needs_more && inner.log_noise == log_max) {
        throw UnattainableEpsilon(target_, target_ * std::exp(inner.excess));
      }
      const Trial outer = At(std::min(inner.log_noise + (needs_more ? step : -step), log_max));
      if (needs_more && outer.excess <= 0) return std::exp(Shrink(inner, outer));
      if (!needs_more && outer.excess > 0) return std::exp(Shrink(outer, inner));
      inner = outer;
    }
  }

 private:
  Trial At(double log_noise) const {
    return {log_noise, std::log(epsilon_(std::exp(log_noise)) / target_)};
  }

  // Shrinks a bracket to the tolerance and returns its upper end. Its lower end has too little
  // noise, its upper end enough.
  double Shrink(Trial low, Trial high) const {
    int lows_in_a_row = 0;
    int highs_in_a_row = 0;
    for (int step = 0; high.log_noise - low.log_noise > kTolerance; ++step) {
      const Trial middle = At(step < kMostSecants ? Between(low, high) : Middle(low, high));
      // The Illinois rule: an end that stays twice loses half of its weight. Otherwise it might
      // stay forever.
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
    return high.log_noise;
  }

  static double Middle(const Trial& low, const Trial& high) {
    return low.log_noise + (high.log_noise - low.log_noise) / 2;
  }

  // The zero of the secant, kept away from both ends so that the last step brackets the root within
  // the tolerance. The middle of the bracket while an end is too far from the root for a useful
  // secant.
  static double Between(const Trial& low, const Trial& high) {
    const double width = high.log_noise - low.log_noise;
    const double fall = low.excess - high.excess;
    if (!(fall < 4)) return low.log_noise + width / 2;
    const double margin = std::min(0.45 * kTolerance, width / 2);
    return std::clamp(low.log_noise + width * low.excess / fall, low.log_noise + margin,
                      high.log_noise - margin);
  }

  std::function<double(double)> epsilon_;
  double target_;
};

// Looks for the largest number of rounds whose epsilon is at most the target.
class RoundSearch {
 public:
  RoundSearch(std::function<double(int64_t rounds)> epsilon, double target)
      : epsilon_(std::move(epsilon)), target_(target) {}

  //   start  a number of rounds that are affordable
  int64_t Run(int64_t start) {
    RoundCount low = {start, 0.0};
    if (start == kMaxAffordableRounds) return start;
    RoundCount high;
    for (int64_t step = 1 + start / 32;; step *= 4) {  // 16 steps at most
      high = At(std::min(low.rounds + step, kMaxAffordableRounds));
      if (high.epsilon > target_) break;
      low = high;
      if (low.rounds == kMaxAffordableRounds) return low.rounds;
    }
    return Shrink(low, high);
  }

 private:
  struct RoundCount {
    int64_t rounds = 0;
    double epsilon = 0.0;  // 0: not computed
  };

  RoundCount At(int64_t rounds) const { return {rounds, epsilon_(rounds)}; }

  // Two secants, then a halving: at most 3 log2(width) steps, and four or five as a rule.
  int64_t Shrink(RoundCount low, RoundCount high) const {
    for (int step = 0; high.rounds - low.rounds > 1 + low.rounds / kRoundShare; ++step) {
      const RoundCount middle = At(step % 3 == 2 ? Middle(low, high) : Secant(low, high));
      (middle.epsilon <= target_ ? low : high) = middle;
    }
    return low.rounds;
  }

  static int64_t Middle(const RoundCount& low, const RoundCount& high) {
    return low.rounds + (high.rounds - low.rounds) / 2;
  }

  // Where the line through the ends reaches the target; the middle if an end is not known.
  int64_t Secant(const RoundCount& low, const RoundCount& high) const {
    const double share = (target_ - low.epsilon) / (high.epsilon - low.epsilon);
    if (!(low.epsilon > 0 && share >= 0 && share <= 1)) return Middle(low, high);
    const auto width = static_cast<double>(high.rounds - low.rounds);
    const auto ahead = static_cast<int64_t>(share * width);
    return low.rounds + std::clamp<int64_t>(ahead, 1, high.rounds - low.rounds - 1);
  }

  std::function<double(int64_t)> epsilon_;
  double target_;
};

void RequireTarget(double target_epsilon) {
  Require(target_epsilon > 0 && target_epsilon <= 1e6, "target epsilon", target_epsilon,
          "in (0, 10^6]");
}

// The start of the search and its first step. The start is the noise that the first-guess
// accountant needs, which is enough.
struct Start {
  double noise;
  double step;
};

template <typename SmallestBy>
Start StartFor(Accountant accountant, double otherwise, SmallestBy smallest_by) {
  const Accountant guess = accountant.FirstGuess();
  if (guess == accountant) return {otherwise, 1.0};
  try {
    return {smallest_by(guess), 0.05};
  } catch (const UnattainableEpsilon&) {
    return {otherwise, 1.0};
  }
}

// The smallest cap that costs at most kColludersDeltaShare of delta if all the colluders are drawn;
// 1 if every device colludes.
int64_t CapBesideColluders(const Plan& plan, double epsilon) {
  const int64_t honest = plan.devices - plan.colluders;
  if (honest < 1) return 1;
  return plan.colluders + PoissonCap(honest, plan.SamplingRate(), plan.rounds, epsilon,
                                     kColludersDeltaShare * plan.delta);
}

}  // namespace

UnattainableEpsilon::UnattainableEpsilon(double target, double smallest)
    : std::runtime_error(Message(target, smallest)), smallest_(smallest) {}

double Calibrate(const Plan& plan, double target_epsilon, const std::vector<SpentRounds>& before) {
  RequireTarget(target_epsilon);
  const double unit = SigmaForNoiseMultiplier(plan, 1.0);
  const Start start = StartFor(plan.accountant, unit, [&](Accountant guess) {
    Plan guessed = plan;
    guessed.accountant = guess;
    return Calibrate(guessed, target_epsilon, before);
  });
  const auto epsilon = [&](double sigma) {
    Plan noisy = plan;
    noisy.noise_sigma = sigma;
    return Account(noisy, noisy.rounds, before).epsilon();
  };
  return Search(epsilon, target_epsilon).Run(start.noise, start.step, unit * kMaxNoiseMultiplier);
}

Plan WithPlannedReports(Plan plan, double epsilon) {
  plan.planned_reports = plan.sampling == Sampling::kPoisson ? plan.devices : plan.cohort;
  plan.Validate();
  if (plan.sampling == Sampling::kPoisson) {
    const int64_t cap = PoissonCap(plan.devices, plan.SamplingRate(), plan.rounds, epsilon,
                                   kDeltaShare * plan.delta);
    plan.planned_reports = std::max({cap, CapBesideColluders(plan, epsilon), int64_t{1}});
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
  FittedPlan fitted{with_cap_for(kInfinity), 0};  // no draw exceeds that cap
  if (plan.sampling != Sampling::kPoisson) return fitted;
  Plan next = with_cap_for(Account(fitted.plan, plan.rounds).epsilon());
  do {
    fitted = {next, fitted.passes + 1};
    next = with_cap_for(Account(fitted.plan, plan.rounds).epsilon());
  } while (next.planned_reports > fitted.plan.planned_reports && fitted.passes < kMostCaps);
  return fitted;
}

double NoiseFactor(const std::vector<GaussianRounds>& rounds, double target_epsilon, double delta,
                   Accountant accountant) {
  RequireTarget(target_epsilon);
  for (const GaussianRounds& r : rounds) {
    Require(r.noise_multiplier > 0, "noise multiplier", r.noise_multiplier, "above 0");
  }
  // The search takes some thirty accounts. Those of many settings would take too long together.
  const bool is_long = Canonical(rounds).size() > kMostSettings;
  const std::vector<GaussianRounds> searched = is_long ? Grouped(rounds, kGroups) : rounds;
  const auto epsilon = [&](double factor) {
    std::vector<GaussianRounds> scaled = searched;
    for (GaussianRounds& r : scaled) r.noise_multiplier *= factor;
    return AccountFor(scaled, delta, accountant).epsilon;
  };
  Require(epsilon(1.0) > 0, "number of rounds with an effect", 0, "at least 1");
  const Start start = StartFor(accountant, 1.0, [&](Accountant guess) {
    return NoiseFactor(searched, target_epsilon, delta, guess);
  });
  return Search(epsilon, target_epsilon).Run(start.noise, start.step, kMaxNoiseMultiplier);
}

int64_t AffordableRounds(GaussianRounds round, double target_epsilon, double delta,
                         Accountant accountant) {
  Require(target_epsilon >= 0, "target epsilon", target_epsilon, "at least 0");
  // The accountant affords at least the rounds that the first guess affords, and usually not many
  // more.
  const Accountant guess = accountant.FirstGuess();
  const int64_t start =
      guess == accountant ? 0 : AffordableRounds(round, target_epsilon, delta, guess);
  const auto epsilon = [&](int64_t rounds) {
    round.rounds = rounds;
    return AccountFor({round}, delta, accountant).epsilon;
  };
  return RoundSearch(epsilon, target_epsilon).Run(start);
}

}  // namespace sotto::privacy
