#include "round/budget.h"

#include <algorithm>
#include <fmt/format.h>

#include "accounting/figures.h"
#include "base/counted.h"

namespace sotto::server {
namespace {

// Nothing certifies this noise: the figures take it for exactly Gaussian.
void AssumeIdealNoise(privacy::Statement* spent) {
  for (privacy::Claim& claim : spent->claims) {
    Assume(privacy::Assumption::kNoiseIsIdeal, &claim);
  }
}

}  // namespace

struct Budget::Disclosed {
  privacy::SpentRounds phase;
  std::vector<privacy::SpentRounds> before;
};

Budget::Budget(const JobConfig& config, const JobPhases& phases)
    : config_(config), phases_(phases), before_(config.spent_before) {}

void Budget::SetFleet(uint32_t devices, uint32_t round, uint32_t attempts) {
  if (phases_.SetFleet(config_.plan, devices, round, attempts)) ForgetFigures();
}

void Budget::SetSpentBefore(std::vector<privacy::SpentRounds> before) {
  before_ = std::move(before);
  ForgetFigures();
}

void Budget::ForgetFigures() {
  accounted_.reset();
  planned_epsilon_.reset();
}

Budget::Disclosed Budget::DisclosedAfter(uint32_t rounds, uint32_t attempts) const {
  std::vector<privacy::SpentRounds> phases = phases_.Split(config_.plan, rounds, attempts);
  Disclosed disclosed = {phases.back(), before_};
  phases.pop_back();
  disclosed.before.insert(disclosed.before.end(), phases.begin(), phases.end());
  privacy::SpentRounds& last = disclosed.phase;
  last.plan.rounds = std::max(last.plan.rounds, last.rounds);
  return disclosed;
}

const privacy::Statement& Budget::Accounted(uint32_t rounds) {
  if (!accounted_ || accounted_->rounds != rounds) {
    const Disclosed now = DisclosedAfter(rounds, rounds);
    accounted_ = privacy::Account(now.phase.plan, now.phase.rounds, now.before);
    accounted_->rounds = rounds;
    accounted_->earlier_rounds = privacy::CountRounds(before_);
    if (!config_.codec->certified) AssumeIdealNoise(&*accounted_);
  }
  return *accounted_;
}

privacy::Statement Budget::SpentAfter(uint32_t rounds, uint32_t attempts) {
  privacy::Statement spent = Accounted(rounds);
  const Disclosed now = DisclosedAfter(rounds, attempts);
  privacy::RestateUpdates(now.phase.plan, now.phase.updates, now.before, &spent);
  if (!config_.codec->certified) AssumeIdealNoise(&spent);
  return spent;
}

double Budget::PlannedEpsilon() {
  if (!planned_epsilon_) {
    const auto rounds = static_cast<uint32_t>(config_.plan.rounds);
    const Disclosed then = DisclosedAfter(rounds, rounds);
    planned_epsilon_ = privacy::HeadlineEpsilon(then.phase.plan, then.phase.rounds, then.before);
  }
  return *planned_epsilon_;
}

// Of passes the figure is the limit's, and the same for all rounds.
std::string Budget::RefusalOfTurns() {
  const double limit = PlannedEpsilon();
  if (limit <= config_.epsilon_budget) return "";
  return fmt::format(
      "the privacy budget cannot pay for another round: {} of one device{} cost epsilon {} at "
      "delta {}, and the budget is {}; raise --epsilon-budget, or begin a job with more noise or "
      "fewer --participations{}",
      Counted(config_.plan.participations, "turn"),
      before_.empty() ? "" : " and the earlier jobs on these devices", privacy::EpsilonText(limit),
      privacy::DeltaText(config_.plan.delta), config_.epsilon_budget,
      before_.empty() ? "" : ", or with new devices");
}

std::string Budget::Refusal(uint32_t rounds) {
  if (!config_.codec->accounted) return "";
  if (config_.plan.sampling == privacy::Sampling::kPasses) return RefusalOfTurns();
  const double next = Accounted(rounds + 1).epsilon_of_releases();
  if (next <= config_.epsilon_budget) return "";
  const privacy::Statement& spent = Accounted(rounds);
  std::string earlier;
  if (spent.earlier_rounds > 0) {
    earlier = spent.earlier_rounds < privacy::kUnknownTurns
                  ? fmt::format(" and {} of earlier jobs on these devices", spent.earlier_rounds)
                  : " and earlier jobs on these devices, whose rounds nobody knows";
  }
  const bool is_changed = !DisclosedAfter(rounds + 1, rounds + 1).before.empty();
  return fmt::format(
      "the privacy budget cannot pay for another round: epsilon {} at delta {} is spent by {} of "
      "{} rounds{}, the next one would make it {}{}, and the budget is {}; to go on, {}, or begin "
      "a job with a larger budget, or with more noise, or with new devices",
      privacy::EpsilonText(spent.epsilon_of_releases()), privacy::DeltaText(spent.Headline().delta),
      rounds, config_.plan.rounds, earlier, privacy::EpsilonText(next),
      is_changed ? " (by the filter: the fleet or the plan has changed, or there was a job before)"
                 : "",
      config_.epsilon_budget,
      rounds == 0
          ? "raise --epsilon-budget"
          : "start its server with a larger --epsilon-budget and no other option of the job");
}

uint32_t Budget::RoundsPaid() {
  auto unpaid = static_cast<uint32_t>(config_.plan.rounds) + 1;
  uint32_t paid = 0;
  while (unpaid - paid > 1) {
    const uint32_t middle = paid + (unpaid - paid) / 2;
    (Refusal(middle - 1).empty() ? paid : unpaid) = middle;
  }
  return paid;
}

int64_t Budget::MorePaid(uint32_t rounds, int64_t most) const {
  Budget next = *this;  // which keeps the last statement of this one
  const auto pays = [&](int64_t more) {
    return next.Refusal(rounds + static_cast<uint32_t>(more) - 1).empty();
  };
  int64_t more = most;
  while (more > 0 && !pays(more)) --more;
  return more;
}

}  // namespace sotto::server
