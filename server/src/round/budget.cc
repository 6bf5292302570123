#include "round/budget.h"

#include <algorithm>
#include <fmt/format.h>

#include "accounting/figures.h"

namespace sotto::server {
namespace {

// Nothing certifies this noise: the figures take it for exactly Gaussian.
void AssumeIdealNoise(privacy::Statement* spent) {
  for (privacy::Claim& claim : spent->claims) {
    Assume(privacy::Assumption::kNoiseIsIdeal, &claim);
  }
}

}  // namespace

const privacy::Statement& Budget::Accounted(uint32_t rounds) {
  const int64_t charged = int64_t{rounds} + surcharge_;
  if (!accounted_ || accounted_->rounds != charged) {
    privacy::Plan plan = config_.plan;
    plan.rounds = std::max(plan.rounds, charged);
    accounted_ = privacy::Account(plan, charged, config_.spent_before, surcharge_);
    if (!config_.codec->certified) AssumeIdealNoise(&*accounted_);
  }
  return *accounted_;
}

privacy::Statement Budget::SpentAfter(uint32_t rounds, uint32_t attempts) {
  privacy::Statement spent = Accounted(rounds);
  privacy::RestateUpdates(config_.plan, attempts, config_.spent_before, &spent);
  if (!config_.codec->certified) AssumeIdealNoise(&spent);
  return spent;
}

std::string Budget::Refusal(uint32_t rounds) {
  if (!config_.codec->accounted) return "";
  const double next = Accounted(rounds + 1).epsilon();
  if (next <= config_.epsilon_budget) return "";
  const privacy::Statement& spent = Accounted(rounds);
  std::string earlier;
  if (spent.earlier_rounds > 0) {
    earlier = fmt::format(" and {} of earlier jobs on these devices", spent.earlier_rounds);
  }
  return fmt::format(
      "the privacy budget cannot pay for another round: epsilon {} at delta {} is spent by "
      "{} of {} rounds{}, the next one would make it {}, and the budget is {}; to go on, "
      "begin a job with a larger budget, or with more noise, or with new devices",
      privacy::EpsilonText(spent.epsilon(), 3), privacy::DeltaText(spent.Headline().delta), rounds,
      config_.plan.rounds, earlier, privacy::EpsilonText(next, 3), config_.epsilon_budget);
}

}  // namespace sotto::server
