#include "plans/adaptivity.h"

#include <algorithm>

#include "accounting/known_draws.h"

namespace sotto::privacy {

int64_t CountReleases(const SpentRounds& job) { return job.rounds; }

int64_t CountUpdates(const SpentRounds& job) { return std::max(job.rounds, job.updates); }

const SpentRounds* FirstJob(const std::vector<SpentRounds>& before, Count count) {
  const auto first = std::find_if(before.begin(), before.end(),
                                  [&](const SpentRounds& job) { return count(job) > 0; });
  return first == before.end() ? nullptr : &*first;
}

bool IsAdaptive(int64_t present, const std::vector<SpentRounds>& before, Count count) {
  const auto jobs = std::count_if(before.begin(), before.end(),
                                  [&](const SpentRounds& job) { return count(job) > 0; });
  return jobs + (present > 0 ? 1 : 0) > 1;
}

bool IsOneWholePlan(const Plan& plan, int64_t rounds, const std::vector<SpentRounds>& before) {
  if (IsAdaptive(rounds, before, CountUpdates)) return false;
  const SpentRounds* first = FirstJob(before, CountUpdates);
  if (first != nullptr) return first->rounds == first->plan.rounds;
  return rounds == 0 || rounds == plan.rounds;
}

Accountant FilterFor(const std::vector<GaussianRounds>& rounds, double delta) {
  return Accountant::GaussianFilter(BestFilterOrder(rounds, delta));
}

Accountant FilterWithKnownDraws(const std::vector<GaussianRounds>& rounds, double delta) {
  return Accountant::GaussianFilter(BestKnownDrawsOrder(rounds, delta)).WithKnownDraws();
}

}  // namespace sotto::privacy
