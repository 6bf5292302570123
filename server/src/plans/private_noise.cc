#include "plans/private_noise.h"

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
    accountant = FilterFor({{Sampling::kNone, first.private_noise_multiplier, 1.0, first.rounds}},
                           first.delta);
  }
  guarantee.gaussian = AccountFor(seen, plan.delta, accountant);
  guarantee.gaussian_delta = plan.delta;
  guarantee.epsilon = guarantee.gaussian.epsilon;
  return guarantee;
}

}  // namespace sotto::privacy
