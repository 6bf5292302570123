#include "plans/private_noise.h"

#include <algorithm>
#include <cmath>

#include "accounting/accountant.h"
#include "accounting/arguments.h"
#include "plans/adaptivity.h"

namespace sotto::privacy {
namespace {

Guarantee Unbounded() {
  Guarantee guarantee;
  guarantee.epsilon = kInfinity;
  return guarantee;
}

}  // namespace

double MaxNoisySquaresQ40(double max_squares_q40, double coordinates, double private_noise_q20) {
  if (private_noise_q20 == 0) return max_squares_q40;
  constexpr double kRoundUp = 1 + 1e-12;  // far above the rounding of the operations below
  const double x = -kLogFalseRefusal;
  const double variance = private_noise_q20 * private_noise_q20;
  const double of_noise = coordinates * variance;
  const double deviation = 2 * private_noise_q20 * std::sqrt((of_noise + 2 * max_squares_q40) * x);
  return (max_squares_q40 + of_noise + deviation + 2 * variance * x) * kRoundUp;
}

Guarantee GuaranteeAgainstServer(const Plan& plan, int64_t updates,
                                 const std::vector<SpentRounds>& before) {
  plan.Validate();
  Require(updates >= 0, "updates", updates, "at least 0");
  if (plan.Trust() != TrustMode::kPrivateNoise) return Unbounded();
  std::vector<GaussianRounds> seen;
  seen.push_back({Sampling::kNone, plan.private_noise_multiplier, 1.0, updates});
  for (const SpentRounds& job : before) {
    const int64_t count = CountUpdates(job);
    if (count == 0) continue;
    if (job.plan.Trust() != TrustMode::kPrivateNoise) return Unbounded();
    seen.push_back({Sampling::kNone, job.plan.private_noise_multiplier, 1.0, count});
  }
  Guarantee guarantee;
  if (updates == 0 && seen.size() == 1) return guarantee;
  Accountant accountant("rdp");
  if (IsAdaptive(updates, before, CountUpdates)) {
    const Plan& first = FirstJob(before, CountUpdates)->plan;
    const std::vector<GaussianRounds> planned = {
        {Sampling::kNone, first.private_noise_multiplier, 1.0, first.rounds}};
    accountant = Accountant::RdpFilter(Epsilon(planned, first.delta).order);  // discrete noise
  }
  guarantee.gaussian = AccountFor(seen, plan.delta, accountant);
  guarantee.gaussian_delta = plan.delta;
  guarantee.epsilon = guarantee.gaussian.epsilon;
  return guarantee;
}

}  // namespace sotto::privacy
