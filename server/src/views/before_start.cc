#include "views/before_start.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <utility>

#include "accounting/figures.h"
#include "base/counted.h"
#include "plans/adaptivity.h"
#include "plans/claim_kinds.h"
#include "plans/turns.h"
#include "round/budget.h"
#include "views/claims_output.h"
#include "views/training_warnings.h"

namespace sotto::server {
namespace {

bool IsPasses(const privacy::Plan& plan) { return plan.sampling == privacy::Sampling::kPasses; }

std::string Trusts(const privacy::Plan& plan) {
  return plan.Trust() == privacy::TrustMode::kPrivateNoise ? "the server follows the protocol"
                                                           : "the server is trusted";
}

// Of passes under private noise: the updates of one device that the server may see. The devices can
// keep that limit themselves.
std::string LimitsUpdates(const privacy::Plan& plan,
                          const std::vector<privacy::SpentRounds>& before) {
  if (plan.Trust() != privacy::TrustMode::kPrivateNoise) return "";
  if (privacy::FirstJob(before, privacy::CountUpdates) != nullptr) {
    return "; no device sends more updates than the store records";
  }
  return fmt::format(
      "; no device sends more than {0}, which it can see to itself: sotto-client "
      "--min-private-noise {1} --max-private-updates {2}",
      Counted(plan.participations, "update"), plan.private_noise_multiplier, plan.participations);
}

// The assumptions that a reader must weigh; the claims of the results name all of them.
std::string Assumes(const privacy::Plan& plan, const std::vector<privacy::SpentRounds>& before) {
  if (!IsPasses(plan)) {
    const bool is_secret =
        !plan.participants_known && privacy::Accounted(plan.sampling) != privacy::Sampling::kNone;
    return fmt::format("assumes: {}{}; the unit is one device", Trusts(plan),
                       is_secret ? ", and who takes part stays secret" : "");
  }
  const bool is_fixed = plan.order == privacy::Order::kFixed;
  return fmt::format(
      "assumes: {}; {} its own data (--order {}); no device's reports depend on another's data{}",
      Trusts(plan),
      is_fixed ? "against the network, whether a device reports does not depend on"
               : "when a device is connected does not depend on",
      privacy::Name(plan.order), LimitsUpdates(plan, before));
}

// What it would cost, whether or not the store's life allows it.
std::string DescribeSecondJob(privacy::Plan plan, std::vector<privacy::SpentRounds> before) {
  const bool is_second = before.empty();
  plan.life_mu_squared = plan.life_coordinates = plan.life_too_long = 0;
  before.push_back({plan, plan.rounds, plan.rounds});
  const double all = privacy::HeadlineEpsilon(plan, plan.rounds, before);
  if (!std::isfinite(all)) return "";
  return fmt::format("{} like this one: epsilon {} for its devices, {} together",
                     is_second ? "a second job" : "one more job", privacy::EpsilonText(all, 2),
                     is_second ? "both" : "all jobs");
}

std::string DescribeRounds(const privacy::Plan& plan) {
  std::string text =
      fmt::format("{} of {} of {}, {} sampling; ", Counted(plan.rounds, "round"), plan.cohort,
                  Counted(plan.devices, "device"), privacy::Name(plan.sampling));
  if (IsPasses(plan)) {
    const int64_t rounds = privacy::RoundsFor(plan.participations, plan.cohort, plan.devices);
    if (rounds < plan.rounds) {
      text += fmt::format("their turns are used after {} unless devices join; ", rounds);
    }
  }
  return text + "when all are released:";
}

// One line for all claims if they are equal, as under passes.
std::vector<std::string> DescribeEpsilons(const privacy::Statement& planned, bool is_seeded) {
  const privacy::Claim& headline = planned.claims.front();
  const auto is_same = [&](const privacy::Claim& claim) {
    return claim.epsilon == headline.epsilon && claim.delta == headline.delta;
  };
  const bool is_one = std::all_of(planned.claims.begin(), planned.claims.end(), is_same);
  std::vector<std::string> lines = {
      fmt::format("epsilon {} at delta {} {}{}", privacy::EpsilonText(headline.epsilon),
                  privacy::DeltaText(headline.delta), privacy::ClaimKinds().front().against,
                  is_one && planned.claims.size() > 1 ? ", and the uploads too" : "")};
  const std::vector<std::string> strong = DescribeHowStrong(headline);
  if (is_seeded) lines.front() += " (seeded: not private)";
  if (!strong.empty()) lines.push_back(fmt::format("{}", fmt::join(strong, "; ")));
  if (is_one) return lines;
  for (const std::string& other :
       DescribeOtherClaims(planned.claims, privacy::kDecimals, Beside::kStrength)) {
    lines.push_back("epsilon " + other);
  }
  return lines;
}

Budget BudgetOf(const JobConfig& job) {
  Budget budget(job, JobPhases());
  budget.SetFleet(static_cast<uint32_t>(job.plan.devices), 0, 0);
  return budget;
}

privacy::Statement PlannedBy(const JobConfig& job) {
  const auto rounds = static_cast<uint32_t>(job.plan.rounds);
  return BudgetOf(job).SpentAfter(rounds, rounds);
}

std::string EpsilonIn(const privacy::Statement& planned) {
  const privacy::Claim claim = planned.Headline();
  return fmt::format("epsilon {} at delta {}", privacy::EpsilonText(claim.epsilon),
                     privacy::DeltaText(claim.delta));
}

// How many rounds the budget pays for, or how many turns of each device; empty: there is none.
std::string DescribeBudget(const JobConfig& job) {
  if (!std::isfinite(job.epsilon_budget)) return "";
  const int64_t paid = BudgetOf(job).RoundsPaid();
  std::string pays_for = paid < job.plan.rounds
                             ? fmt::format("{} of the {}", paid, Counted(job.plan.rounds, "round"))
                             : "all its rounds";
  if (IsPasses(job.plan) && paid > 0) {
    pays_for = fmt::format("{} of each device", Counted(job.plan.participations, "turn"));
  }
  return fmt::format("the budget, epsilon {}, pays for {}{}", job.epsilon_budget, pays_for,
                     job.spent_before.empty() ? "" : ", after the earlier jobs");
}

}  // namespace

std::vector<std::string> DescribePrice(const JobConfig& job, const privacy::Owners& owners) {
  if (!job.codec->accounted) return {};
  JobConfig alone = job;
  alone.spent_before.clear();
  const privacy::Statement planned = PlannedBy(job);
  std::vector<std::string> lines = DescribeBeforeStart(job, planned, owners);
  lines.push_back("alone: " + EpsilonIn(PlannedBy(alone)));
  if (!job.spent_before.empty()) {
    lines.push_back("with the earlier jobs on these devices: " + EpsilonIn(planned));
  }
  if (const std::string budget = DescribeBudget(job); !budget.empty()) lines.push_back(budget);
  return lines;
}

std::vector<std::string> DescribeAssumptions(const privacy::Plan& plan,
                                             const std::vector<privacy::SpentRounds>& before,
                                             const privacy::Owners& owners) {
  std::vector<std::string> lines = {Assumes(plan, before), DescribeOwners(plan, before, owners, 2),
                                    DescribeSecondJob(plan, before)};
  lines.erase(std::remove(lines.begin(), lines.end(), std::string()), lines.end());
  return lines;
}

std::vector<std::string> DescribeBeforeStart(const JobConfig& job,
                                             const privacy::Statement& planned,
                                             const privacy::Owners& owners) {
  if (!job.codec->accounted || planned.claims.empty()) return {};
  const privacy::Plan& plan = job.plan;
  std::vector<std::string> lines = {DescribeRounds(plan)};
  for (std::string& line : DescribeEpsilons(planned, job.seeded)) lines.push_back(std::move(line));
  for (std::string& line : DescribeAssumptions(plan, job.spent_before, owners)) {
    lines.push_back(std::move(line));
  }
  const std::string signal = SignalNotice(job);
  if (!signal.empty()) lines.push_back(signal);
  return lines;
}

}  // namespace sotto::server
