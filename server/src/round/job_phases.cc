#include "round/job_phases.h"

#include <algorithm>

namespace sotto::server {

using privacy::Plan;
using privacy::SpentRounds;

Plan PlanForFleet(Plan plan, int64_t devices) {
  const bool is_sampled = privacy::Accounted(plan.sampling) != privacy::Sampling::kNone;
  if (!is_sampled || devices == plan.devices) return plan;
  if (plan.sampling == privacy::Sampling::kPoisson) plan.rate_devices = plan.devices;
  plan.devices = devices;
  return plan;
}

int64_t ChargedDevices(const Plan& plan, int64_t devices) {
  switch (plan.sampling) {
    case privacy::Sampling::kUniform:
      return std::min(devices, plan.AccountedDevices());
    case privacy::Sampling::kPoisson:
      return std::max(devices, plan.devices);
    default:
      return plan.devices;
  }
}

bool JobPhases::SetFleet(const Plan& plan, int64_t devices, int64_t round, int64_t attempts) {
  if (devices == DevicesNow(plan)) return false;
  fleets_.push_back({devices, round, attempts});
  return true;
}

void JobPhases::ExtendFrom(int64_t rounds) { ends_.push_back(rounds); }

Plan JobPhases::Limited(Plan plan) const {
  const bool is_extended = plan.sampling == privacy::Sampling::kPasses && !ends_.empty();
  if (is_extended) plan.limit_rounds = ends_.front();
  return plan;
}

std::vector<SpentRounds> JobPhases::Split(const Plan& plan, int64_t rounds,
                                          int64_t attempts) const {
  if (plan.sampling == privacy::Sampling::kPasses) {
    return {{Limited(plan), rounds, std::max(attempts, rounds)}};
  }
  std::vector<Fleet> fleets = {{ChargedDevices(plan, plan.devices), 0, 0}};
  for (Fleet fleet : fleets_) {
    fleet.devices = ChargedDevices(plan, fleet.devices);
    if (fleet.devices != fleets.back().devices) fleets.push_back(fleet);
  }
  std::vector<int64_t> ends = ends_;
  ends.push_back(plan.rounds);
  std::vector<SpentRounds> phases;
  for (size_t i = 0; i < fleets.size(); ++i) {
    const bool is_last = i + 1 == fleets.size();
    const int64_t end = is_last ? rounds : fleets[i + 1].first_round;
    // The attempts that released nothing come first.
    const int64_t made =
        (is_last ? attempts : fleets[i + 1].attempts_before) - fleets[i].attempts_before;
    int64_t updates = std::max<int64_t>(made - (end - fleets[i].first_round), 0);
    for (int64_t begin = fleets[i].first_round;;) {
      const auto planned = std::find_if(ends.begin(), ends.end(),
                                        [&](int64_t planned_end) { return planned_end > begin; });
      // Rounds beyond the plan, which only a caller can have, are charged with its last phase.
      const int64_t planned_end = planned == ends.end() ? std::max(plan.rounds, end) : *planned;
      const int64_t stop = std::min(end, planned_end);
      SpentRounds phase;
      phase.plan = PlanForFleet(plan, fleets[i].devices);
      phase.plan.rounds = std::max<int64_t>(planned_end - begin, 1);
      phase.plan.schedule.first_round = begin;
      phase.rounds = stop - begin;
      phase.updates = phase.rounds + updates;
      updates = 0;
      begin = stop;
      const bool opens_next =
          is_last && planned != ends.end() && begin == *planned && begin < plan.rounds;
      const bool is_end = begin >= end && !opens_next;
      if (phase.updates > 0 || (is_last && is_end)) phases.push_back(phase);
      if (is_end) break;
    }
  }
  return phases;
}

}  // namespace sotto::server
