#include "views/prices.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <optional>

#include "accounting/figures.h"
#include "base/counted.h"
#include "plans/statement.h"
#include "plans/turns.h"
#include "store/history.h"
#include "store/recovery.h"
#include "views/claims_output.h"

namespace sotto::server {
namespace {

int64_t EligibleIn(const History& history) {
  return std::count_if(history.devices.begin(), history.devices.end(),
                       [](const DeviceRecord& device) { return device.is_eligible(); });
}

// The last job, if it may release another round.
const JobEntry* JobUnderWay(const History& history) {
  const JobEntry* job = LastJob(history);
  if (job == nullptr || job->released >= PlanNow(history.store, *job).rounds) return nullptr;
  const std::optional<HaltEntry> end = EndOf(history, *job);
  const bool was_ended = end && (end->kind == Halt::kOperator || end->kind == Halt::kReplaced);
  return was_ended ? nullptr : job;
}

std::string DescribeFigure(const std::vector<privacy::Claim>& claims) {
  if (claims.empty()) return "none";
  return fmt::format("epsilon {} at delta {}", DescribeClaims(claims),
                     privacy::DeltaText(claims.front().delta));
}

bool IsSame(const std::vector<privacy::Claim>& a, const std::vector<privacy::Claim>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const privacy::Claim& one, const privacy::Claim& other) {
                      return one.epsilon == other.epsilon && one.delta == other.delta;
                    });
}

// Why the job opens no round, or ends before its rounds do; empty: neither.
std::string DescribeHindrance(const History& after, const JobEntry& job,
                              const std::vector<privacy::Claim>& claims) {
  const privacy::Plan plan = PlanOf(after, job);
  if (EligibleIn(after) < plan.cohort && plan.sampling != privacy::Sampling::kPoisson) {
    return fmt::format("  a round needs {}, and {} are eligible then: the job waits\n",
                       Counted(plan.cohort, "device"), EligibleIn(after));
  }
  const double budget = PlanNow(after.store, job).epsilon_budget;
  if (claims.empty() || claims.front().epsilon <= budget) return "";
  return fmt::format("  its budget is {}: the job ends before all its rounds are released\n",
                     budget);
}

// Of the copy's last job.
std::string DescribeJobOfCopy(const History& history, const JobEntry& job) {
  const privacy::Plan plan = PlanOf(history, job);
  std::string text =
      fmt::format("  copy     job {}: {} of {} released, {}; what came later is lost\n", job.number,
                  job.released, Counted(PlanNow(history.store, job).rounds, "round"),
                  Counted(job.attempts, "attempt"));
  if (!MayRunOnRecovered(plan)) {
    return text +
           fmt::format(
               "  job {}    is over: whom it asks must not depend on who has shown a receipt. "
               "Its lost rounds\n           may have spent up to its whole budget, and more if "
               "that was raised; no figure counts them\n",
               job.number);
  }
  int64_t left = 0;
  for (const DeviceTurns& device : TurnsOf(history, job).devices) left += device.left;
  return text +
         fmt::format(
             "  job {}    goes on with the devices that show turns left: at most {}, less the "
             "lost ones; a round needs {}\n",
             job.number, Counted(left, "turn"), Counted(plan.cohort, "device"));
}

}  // namespace

std::vector<privacy::Claim> PlannedClaims(const History& history) {
  const JobEntry* job = LastJob(history);
  if (job == nullptr) return {};
  privacy::Plan plan = PlanOf(history, *job);
  if (!(plan.noise_sigma > 0)) return {};
  plan.rounds = PlanNow(history.store, *job).rounds;
  JobPhases phases = PhasesOf(history.store, *job);
  phases.SetFleet(plan, std::max(EligibleIn(history), plan.cohort), job->released, job->attempts);
  const int64_t attempts = job->attempts + plan.rounds - job->released;
  std::vector<privacy::SpentRounds> before = SpentBefore(history, job);
  std::vector<privacy::SpentRounds> all = phases.Split(plan, plan.rounds, attempts);
  privacy::SpentRounds last = all.back();
  before.insert(before.end(), all.begin(), all.end() - 1);
  last.plan.rounds = std::max(last.plan.rounds, last.rounds);
  privacy::Statement planned = privacy::Account(last.plan, last.rounds, before);
  privacy::RestateUpdates(last.plan, last.updates, before, &planned);
  return planned.claims;
}

Price PriceOf(const History& before, const History& after) {
  const std::vector<privacy::Claim> now = PlannedClaims(before);
  const std::vector<privacy::Claim> then = PlannedClaims(after);
  const JobEntry* job = JobUnderWay(after);
  if (job == nullptr || (now.empty() && then.empty())) return {};
  Price price;
  price.moves = !IsSame(now, then);
  if (!price.moves) {
    price.text = fmt::format("job {}: no figure moves: {} once all its rounds are released\n",
                             job->number, DescribeFigure(now));
  } else {
    price.text =
        fmt::format("job {}, once all its rounds are released:\n  now    {}\n  after  {}\n",
                    job->number, DescribeFigure(now), DescribeFigure(then));
  }
  price.text += DescribeHindrance(after, *job, then);
  return price;
}

void AddEligible(int64_t devices, History* history) {
  int64_t number = history->devices.empty() ? 0 : history->devices.back().number;
  for (int64_t i = 0; i < devices; ++i) {
    DeviceRecord device;
    device.number = ++number;
    history->devices.push_back(device);
  }
}

void Revoke(const std::string& id, History* history) {
  for (DeviceRecord& device : history->devices) {
    if (device.id == id && !device.revoked) device.revoked = 0;
  }
}

void Extend(const JobExtension& extension, History* history) {
  if (!history->jobs.empty()) history->jobs.back().extensions.push_back(extension);
}

std::string DescribeExtension(const History& history, const JobExtension& extension) {
  const JobEntry* job = LastJob(history);
  if (job == nullptr) return "";
  const JobExtension held = PlanNow(history.store, *job);
  const bool is_same =
      held.rounds == extension.rounds && held.epsilon_budget == extension.epsilon_budget;
  History after = history;
  Extend(extension, &after);
  const std::vector<privacy::Claim> then = PlannedClaims(after);
  if (is_same || then.empty()) return "";
  const auto plan = [](const JobExtension& of, const std::vector<privacy::Claim>& claims) {
    return fmt::format(
        "{}{}: {}", Counted(of.rounds, "round"),
        std::isfinite(of.epsilon_budget) ? fmt::format(", budget {}", of.epsilon_budget) : "",
        DescribeFigure(claims));
  };
  return fmt::format("job {} goes on with another plan. Before: {}. From now on: {}", job->number,
                     plan(held, PlannedClaims(history)), plan(extension, then));
}

std::string PriceOfLife(const History& history, double epsilon) {
  if (!history.life) return "";
  const auto limit = [&](double life) {
    const double mu = std::sqrt(privacy::LifeLimit(life, history.life->delta, {}).mu_squared);
    return fmt::format("epsilon {} at delta {} (mu {:.3f})", life,
                       privacy::DeltaText(history.life->delta), mu);
  };
  return fmt::format(
      "what the turns of one device in all jobs may cost:\n  now    {}\n  after  {}\n"
      "Models that were released until now were promised the smaller one. That promise ends for "
      "all of them.\n",
      limit(history.life->epsilon), limit(epsilon));
}

std::string DescribeCopy(const History& history) {
  History after = history;
  after.recovery = Recovery();
  after.recovery->life = history.life;
  std::string text = history.jobs.empty() ? "  copy     no job has begun; what came later is lost\n"
                                          : DescribeJobOfCopy(history, history.jobs.back());
  return text + fmt::format(
                    "  devices  {} to settle, each with its first message that brings a receipt\n"
                    "  others   not asked; each counts {}\n",
                    EligibleIn(history), DescribeCap(after));
}

}  // namespace sotto::server
