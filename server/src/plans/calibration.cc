#include "plans/calibration.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <sstream>
#include <utility>

#include "accounting/arguments.h"
#include "accounting/binomial.h"
#include "accounting/grouping.h"
#include "plans/composition.h"
#include "plans/statement.h"

namespace sotto::privacy {
namespace {

constexpr double kMaxNoiseMultiplier = 1e9;
constexpr double kTolerance = 1e-9;       // of ln(noise_sigma)
constexpr int64_t kRoundShare = 100'000;  // numbers of rounds above it are found to one part in it
constexpr double kCoarseTolerance = 1e-3;
constexpr int kMostSecants = 12;  // of a search, and then it halves
constexpr int kMostTrials = 30;   // of a search, once it has found enough noise
constexpr int kMostCoarseTrials = 18;
constexpr int kMostFullTrials = 5;
constexpr int kMostFullRoundTrials = 3;
constexpr int kMostCaps = 50;
constexpr size_t kMostSettings = 64;  // for which a noise factor is searched
constexpr size_t kFewSettings = 4;    // for which it is searched to kTolerance
// The cap on a Poisson draw costs more of delta than kDeltaShare if the colluders are in the draw.
// A larger cap would need more noise, so it grows only beyond this share.
constexpr double kColludersDeltaShare = 0.1;

std::string Message(double target, double smallest) {
  std::ostringstream message;
  message << "epsilon " << target << " is out of reach for this plan";
  if (std::isfinite(smallest)) {
    message << "; the smallest attainable is " << smallest;
  } else {
    message << ", and so is every finite one; a larger delta may help";
  }
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
  //   lean  how far beyond the zero of a secant the next trial is, for a search of few trials. The
  //         secant's zero has slightly too little noise as a rule, because epsilon is convex there.
  Search(std::function<double(double noise)> epsilon, double target, double tolerance,
         int most_trials = kMostTrials, double lean = 0.0)
      : epsilon_(std::move(epsilon)),
        target_(target),
        tolerance_(tolerance),
        lean_(lean),
        trials_left_(most_trials) {}

  // The epsilon at the noise that Run() returned.
  double epsilon() const { return accepted_; }

  // Starts from a first guess and doubles each step. Never exceeds the largest noise. After
  // most_trials the smallest noise found so far is returned.
  double Run(double start, double first_step, double largest) {
    const double first = std::min(start, largest);
    return RunFrom(first, epsilon_(first), first_step, largest);
  }

  // The same, where the epsilon of the first guess is known.
  double RunFrom(double start, double epsilon, double first_step, double largest) {
    const double log_max = std::log(largest);
    Trial inner = Seen(std::log(start), epsilon);  // the bracket end nearer to the start
    const bool needs_more = inner.excess > 0;
    for (double step = first_step;; step *= 2) {  // 16 steps reach the smallest double
      if (needs_more && inner.log_noise == log_max) {
        throw UnattainableEpsilon(target_, target_ * std::exp(inner.excess));
      }
      const Trial outer = At(std::min(inner.log_noise + (needs_more ? step : -step), log_max));
      if (needs_more && outer.excess <= 0) return std::exp(Shrink(inner, outer));
      if (!needs_more && outer.excess > 0) return std::exp(Shrink(outer, inner));
      inner = outer;
      if (!needs_more && trials_left_ <= 0) return std::exp(inner.log_noise);
    }
  }

 private:
  Trial At(double log_noise) { return Seen(log_noise, epsilon_(std::exp(log_noise))); }

  Trial Seen(double log_noise, double epsilon) {
    --trials_left_;
    const double excess = std::log(epsilon / target_);
    if (!(excess > 0)) accepted_ = epsilon;
    return {log_noise, excess};
  }

  // Shrinks a bracket to the tolerance and returns its upper end. Its lower end has too little
  // noise, its upper end enough.
  double Shrink(Trial low, Trial high) {
    int lows_in_a_row = 0;
    int highs_in_a_row = 0;
    for (int step = 0; high.log_noise - low.log_noise > tolerance_ && trials_left_ > 0; ++step) {
      const double next = step < kMostSecants ? Between(low, high) : Middle(low, high);
      if (high.log_noise - next < lean_) break;  // no trial gains more
      const Trial middle = At(next);
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

  // The zero of the secant, and the lean beyond it, kept away from both ends so that the last step
  // brackets the root within the tolerance. The middle of the bracket while an end is too far from
  // the root for a useful secant.
  double Between(const Trial& low, const Trial& high) const {
    const double width = high.log_noise - low.log_noise;
    const double fall = low.excess - high.excess;
    if (!(fall < 4)) return low.log_noise + width / 2;
    const double margin = std::min(0.45 * tolerance_, width / 2);
    return std::clamp(low.log_noise + width * low.excess / fall + lean_, low.log_noise + margin,
                      high.log_noise - margin);
  }

  std::function<double(double)> epsilon_;
  double target_;
  double tolerance_;
  double lean_;
  int trials_left_;
  double accepted_ = 0.0;  // of the last trial with enough noise
};

// Looks for the largest number of rounds whose epsilon is at most the target.
class RoundSearch {
 public:
  RoundSearch(std::function<double(int64_t rounds)> epsilon, double target,
              int most_trials = kMostTrials)
      : epsilon_(std::move(epsilon)), target_(target), trials_left_(most_trials) {}

  // After most_trials the largest number found so far is returned.
  //   start  a number of rounds that are affordable
  int64_t Run(int64_t start) {
    RoundCount low = {start, 0.0};
    if (start == kMaxAffordableRounds) return start;
    RoundCount high;
    for (int64_t step = 1 + start / 32;; step *= 4) {  // 16 steps at most
      high = At(std::min(low.rounds + step, kMaxAffordableRounds));
      if (high.epsilon > target_) break;
      low = high;
      if (low.rounds == kMaxAffordableRounds || trials_left_ <= 0) return low.rounds;
    }
    return Shrink(low, high);
  }

 private:
  struct RoundCount {
    int64_t rounds = 0;
    double epsilon = 0.0;  // 0: not computed
  };

  RoundCount At(int64_t rounds) {
    --trials_left_;
    return {rounds, epsilon_(rounds)};
  }

  // Two secants, then a halving, and later halvings alone. Four or five steps as a rule.
  int64_t Shrink(RoundCount low, RoundCount high) {
    for (int step = 0; high.rounds - low.rounds > 1 + low.rounds / kRoundShare && trials_left_ > 0;
         ++step) {
      const RoundCount middle =
          At(step % 3 == 2 || step > kMostSecants ? Middle(low, high) : Secant(low, high));
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
  int trials_left_;
};

void RequireTarget(double target_epsilon) {
  Require(target_epsilon > 0 && target_epsilon <= 1e6, "target epsilon", target_epsilon,
          "in (0, 10^6]");
}

// The smallest noise whose epsilon is at most the target: first by quick figures, which begin at
// the noise that the first-guess accountant needs, then by a few full ones where they differ.
class NoiseSearch {
 public:
  using EpsilonBy = std::function<double(double noise, Accountant accountant)>;

  //   largest   the largest noise
  //   settings  the number of different settings
  NoiseSearch(EpsilonBy epsilon, double target, double largest, size_t settings)
      : epsilon_(std::move(epsilon)),
        target_(target),
        largest_(largest),
        tolerance_(settings <= kFewSettings ? kTolerance : kCoarseTolerance) {}

  //   otherwise  where to start if there is no first guess
  double Run(Accountant accountant, double otherwise) const {
    Trial quick;
    try {
      quick = Quick(accountant.Quick(), otherwise);
    } catch (const UnattainableEpsilon&) {  // by quick figures: the full one at the largest noise
      return FullSearch(accountant).Run(largest_, 1.0, largest_);
    }
    const double full = epsilon_(quick.noise, accountant);
    if (full == quick.epsilon) return quick.noise;
    // A quick figure of the same rounds is seldom smaller than a full one, and then by very little.
    const double step = std::clamp(std::abs(std::log(target_ / full)), kSmallestStep, 1.0);
    return FullSearch(accountant).RunFrom(quick.noise, full, step, largest_);
  }

 private:
  static constexpr double kSmallestStep = 1e-5;
  static constexpr double kFullLean = 5e-4;  // of ln(noise_sigma)

  struct Trial {
    double noise = 0.0;
    double epsilon = 0.0;
  };

  bool is_coarse() const { return tolerance_ > kTolerance; }

  Search SearchBy(Accountant accountant, int most_trials, double lean = 0.0) const {
    return Search([this, accountant](double noise) { return epsilon_(noise, accountant); }, target_,
                  tolerance_, most_trials, lean);
  }

  Search FullSearch(Accountant accountant) const {
    return SearchBy(accountant, kMostFullTrials, is_coarse() ? kFullLean : 0.0);
  }

  Trial Quick(Accountant accountant, double otherwise) const {
    const Accountant guess = accountant.FirstGuess();
    const int most_trials = is_coarse() ? kMostCoarseTrials : kMostTrials;
    double start = otherwise;
    double step = 1.0;
    if (!(guess == accountant)) {
      try {
        start = SearchBy(guess, most_trials).Run(otherwise, step, largest_);
        step = 0.05;
      } catch (const UnattainableEpsilon&) {
      }
    }
    Search search = SearchBy(accountant, most_trials);
    const double noise = search.Run(start, step, largest_);
    return {noise, search.epsilon()};
  }

  EpsilonBy epsilon_;
  double target_;
  double largest_;
  double tolerance_;
};

bool HasEffect(const std::vector<GaussianRounds>& rounds) {
  return std::any_of(rounds.begin(), rounds.end(), [](const GaussianRounds& r) {
    return r.rounds > 0 && (r.sampling == Sampling::kNone || r.sampling_rate > 0);
  });
}

// The smallest cap that costs at most kColludersDeltaShare of delta if all the colluders are drawn;
// 1 if every device colludes.
int64_t CapBesideColluders(const Plan& plan, double epsilon) {
  const int64_t honest = plan.devices - plan.colluders;
  if (honest < 1) return 1;
  return plan.colluders + PoissonCap(honest, plan.SamplingRate(), plan.rounds, epsilon,
                                     kColludersDeltaShare * plan.delta);
}

// The plan with planned_reports and noise_sigma, where the noise follows from the planned reports.
FittedPlan WithCap(const Plan& plan, const std::function<double(const Plan&)>& noise_sigma) {
  const auto with_cap_for = [&](double epsilon) {
    Plan fitted = plan;
    fitted.noise_sigma = 0.0;
    fitted = WithPlannedReports(fitted, epsilon);
    fitted.noise_sigma = noise_sigma(fitted);
    return fitted;
  };
  FittedPlan fitted{with_cap_for(kInfinity), 0};  // no draw exceeds that cap
  if (plan.sampling != Sampling::kPoisson) return fitted;
  // A cap that suits a quick figure suits a full one, which is hardly ever larger.
  const auto epsilon = [&](Plan fitted_plan) {
    fitted_plan.accountant = plan.accountant.Quick();
    return HeadlineEpsilon(fitted_plan, plan.rounds);
  };
  Plan next = with_cap_for(epsilon(fitted.plan));
  do {
    fitted = {next, fitted.passes + 1};
    next = with_cap_for(epsilon(fitted.plan));
  } while (next.planned_reports > fitted.plan.planned_reports && fitted.passes < kMostCaps);
  return fitted;
}

}  // namespace

UnattainableEpsilon::UnattainableEpsilon(double target, double smallest)
    : std::runtime_error(Message(target, smallest)), smallest_(smallest) {}

double Calibrate(const Plan& plan, double target_epsilon, const std::vector<SpentRounds>& before) {
  RequireTarget(target_epsilon);
  const double unit = SigmaForNoiseMultiplier(plan, 1.0);
  const auto epsilon = [&](double sigma, Accountant accountant) {
    Plan noisy = plan;
    noisy.noise_sigma = sigma;
    noisy.accountant = accountant;
    return HeadlineEpsilon(noisy, noisy.rounds, before);
  };
  Plan noisy = plan;
  noisy.noise_sigma = unit;
  const size_t settings = ComposeReleases(noisy, noisy.rounds, before).rounds.size();
  return NoiseSearch(epsilon, target_epsilon, unit * kMaxNoiseMultiplier, settings)
      .Run(plan.accountant, unit);
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
  return WithCap(
      plan, [&](const Plan& capped) { return SigmaForNoiseMultiplier(capped, noise_multiplier); });
}

FittedPlan PlanForNoiseSigma(const Plan& plan, double noise_sigma) {
  RequirePositive(noise_sigma, "noise_sigma");
  return WithCap(plan, [&](const Plan&) { return noise_sigma; });
}

double NoiseFactor(const std::vector<GaussianRounds>& rounds, double target_epsilon, double delta,
                   Accountant accountant) {
  RequireTarget(target_epsilon);
  for (const GaussianRounds& r : rounds) {
    Require(r.noise_multiplier > 0, "noise multiplier", r.noise_multiplier, "above 0");
  }
  const std::vector<GaussianRounds> few = Grouped(rounds, kMostSettings);
  const auto epsilon = [&](double factor, Accountant by) {
    std::vector<GaussianRounds> scaled = by.effort() == Effort::kQuick ? few : rounds;
    for (GaussianRounds& r : scaled) r.noise_multiplier *= factor;
    return AccountFor(scaled, delta, by).epsilon;
  };
  Require(HasEffect(rounds), "number of rounds with an effect", 0, "at least 1");
  return NoiseSearch(epsilon, target_epsilon, kMaxNoiseMultiplier, few.size()).Run(accountant, 1.0);
}

int64_t AffordableRounds(GaussianRounds round, double target_epsilon, double delta,
                         Accountant accountant) {
  Require(target_epsilon >= 0, "target epsilon", target_epsilon, "at least 0");
  const auto epsilon = [&](int64_t rounds, Accountant by) {
    round.rounds = rounds;
    return AccountFor({round}, delta, by).epsilon;
  };
  const auto search = [&](Accountant by, int most_trials, int64_t start) {
    return RoundSearch([&](int64_t rounds) { return epsilon(rounds, by); }, target_epsilon,
                       most_trials)
        .Run(start);
  };
  // The accountant affords at least the rounds that the first guess affords, and usually not many
  // more.
  const Accountant quick = accountant.Quick();
  const Accountant guess = quick.FirstGuess();
  int64_t rounds = guess == quick ? 0 : search(guess, kMostTrials, 0);
  rounds = search(quick, kMostTrials, rounds);
  const double full = epsilon(rounds, accountant);
  if (full == epsilon(rounds, quick)) return rounds;
  if (full <= target_epsilon) return search(accountant, kMostFullRoundTrials, rounds);
  // A quick figure is seldom smaller than a full one, and then by very little.
  const int64_t fewer = rounds - 1 - rounds / 1000;
  return epsilon(fewer, accountant) <= target_epsilon ? fewer : 0;
}

}  // namespace sotto::privacy
