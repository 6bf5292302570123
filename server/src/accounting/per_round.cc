#include "accounting/per_round.h"

#include <algorithm>
#include <cmath>

#include "accounting/arguments.h"
#include "accounting/gdp.h"
#include "accounting/log_space.h"

namespace sotto::privacy {
namespace {

// Each takes one inversion of the Gaussian's delta, some ten microseconds.
constexpr size_t kMostSettings = 64;
constexpr double kMinShare = 1e-300;  // of delta, for one round

}  // namespace

double OneRoundEpsilon(const GaussianRounds& round, double delta) {
  RequirePositive(round.noise_multiplier, "noise multiplier");
  RequireRate(round.sampling_rate);
  RequireDelta(delta);
  const double rate = round.sampling == Sampling::kNone ? 1.0 : round.sampling_rate;
  const double share = delta * (1 - kArithmeticMargin) / rate;
  if (!(share < 1)) return 0;  // the device is hardly ever in the cohort
  const double unsampled = GdpEpsilon(1 / round.noise_multiplier * (1 + kArithmeticMargin), share);
  return LogMixture(rate, unsampled) * (1 + kArithmeticMargin);
}

bool PerRoundSupports(const std::vector<GaussianRounds>& rounds, double /*delta*/) {
  return rounds.size() <= kMostSettings &&
         std::all_of(rounds.begin(), rounds.end(),
                     [](const GaussianRounds& r) { return r.noise_multiplier > 0; });
}

EpsilonAt ComposePerRound(const std::vector<GaussianRounds>& rounds, double /*delta*/,
                          Effort /*effort*/) {
  double total = 0.0;
  for (const GaussianRounds& r : rounds) total += static_cast<double>(r.rounds);
  return [rounds, total](double delta) {
    AccountedEpsilon result;
    result.winner = "per-round";
    if (!(delta / total >= kMinShare)) result.epsilon = kInfinity;
    if (result.epsilon > 0) return result;
    for (const GaussianRounds& r : rounds) {
      if (r.rounds == 0) continue;
      result.epsilon += static_cast<double>(r.rounds) * OneRoundEpsilon(r, delta / total);
    }
    return result;
  };
}

}  // namespace sotto::privacy
