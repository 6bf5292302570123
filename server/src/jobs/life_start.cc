#include "jobs/life_start.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "accounting/figures.h"
#include "base/counted.h"
#include "plans/statement.h"
#include "store/recovery.h"

namespace sotto::server {
namespace {

constexpr int kDecimals = 2;

// "this job has epsilon 6.00, its devices over all jobs 9.10, at delta 1e-05", as the claims say.
std::string DescribeJobAndLife(const JobConfig& config) {
  const double own = privacy::HeadlineEpsilon(config.plan, 1);
  const double all = privacy::HeadlineEpsilon(config.plan, 1, config.spent_before);
  return fmt::format("this job has epsilon {}, its devices over all jobs {}, at delta {}",
                     privacy::EpsilonText(own, kDecimals), privacy::EpsilonText(all, kDecimals),
                     privacy::DeltaText(config.plan.delta));
}

// The number of eligible devices that have room for `turns` of the job's kind.
int64_t DevicesWithRoom(const History& history, const JobConfig& config,
                        const privacy::Turns& turns) {
  return std::count_if(
      history.devices.begin(), history.devices.end(), [&](const DeviceRecord& device) {
        const auto before = config.turns_before.find(device.number);
        const privacy::Turns used =
            before == config.turns_before.end() ? privacy::Turns() : before->second;
        return device.is_eligible() && privacy::HasRoom(used, turns, *config.life_limit);
      });
}

// A job whose draws are secret, or without noise.
void RequireRoomForAll(const std::string& store, const History& history, const JobEntry* resumed,
                       const JobConfig& config) {
  if (!history.life) return;
  if (!config.codec->noise) {
    throw std::invalid_argument(fmt::format(
        "a job without noise has no epsilon, and the life epsilon of {} is {}; use another store",
        store, history.life->epsilon));
  }
  const privacy::Plan& plan = config.plan;
  const privacy::Turns worst = WorstCaseOf(history, resumed, plan);
  if (privacy::HasRoom({}, worst, *LifeLimitOf(history, plan.certificate))) return;
  throw std::invalid_argument(fmt::format(
      "--sampling {}: a device that is drawn in each of {} has epsilon {} over all jobs, and the "
      "store's life epsilon is {} at delta {}. Which devices have room must not decide about a "
      "secret draw, so the job needs room for all: take --sampling passes or fewer rounds; or: {}",
      privacy::Name(plan.sampling), Counted(plan.rounds, "round"),
      privacy::EpsilonText(
          privacy::GuaranteeOf(worst, history.life->delta, plan.certificate).epsilon, kDecimals),
      history.life->epsilon, privacy::DeltaText(history.life->delta),
      HowToRaise(store, history, worst, plan)));
}

void RequireLife(const std::string& store, const History& history, const JobConfig& config) {
  const privacy::Plan& plan = config.plan;
  const privacy::Turns most = MostOf(config.turns_before, history, true);
  if (most.count == 0) return;
  throw std::invalid_argument(fmt::format(
      "{} holds an earlier job on these devices, and people who see the new models have seen its "
      "models: {}; {}; or begin it with `sotto job start`, which asks; or use new devices in a new "
      "store",
      store, DescribeJobAndLife(config),
      HowToRaise(store, history, most + privacy::LimitOf(plan), plan)));
}

// What each device has had at most, and all turns of the job; where no life epsilon has room for
// both, all turns of the job alone.
privacy::Turns AllTurnsOf(const History& history, const JobConfig& config) {
  const privacy::Turns job = privacy::LimitOf(config.plan);
  const privacy::Turns all = MostOf(config.turns_before, history, true) + job;
  const double epsilon = LifeEpsilonFor(all, history.life->delta, config.plan.certificate);
  return std::isfinite(epsilon) ? all : job;
}

// A job of which no device, not even a new one, could have all its turns.
void RequireRoomForAllTurns(const std::string& store, const History& history,
                            const JobConfig& config) {
  const privacy::Plan& plan = config.plan;
  const privacy::Turns all = privacy::LimitOf(plan);
  if (privacy::HasRoom({}, all, *config.life_limit)) return;
  if (LifeEpsilonFor(all, history.life->delta, plan.certificate) <= history.life->epsilon) {
    throw std::invalid_argument("a device has no room for its turns in this job, and " +
                                DescribeTooLarge(history, all, plan));
  }
  throw std::invalid_argument(fmt::format(
      "the store's life epsilon, {} at delta {}, has no room for all turns of a device in this "
      "job, which has epsilon {} (some of the limit is for the encoder's terms); {}; or name a "
      "smaller --epsilon",
      history.life->epsilon, privacy::DeltaText(history.life->delta),
      privacy::EpsilonText(privacy::HeadlineEpsilon(plan, 1), kDecimals),
      HowToRaise(store, history, AllTurnsOf(history, config), plan)));
}

void RequireRoomForACohort(const std::string& store, const History& history,
                           const JobConfig& config) {
  const privacy::Plan& plan = config.plan;
  const int64_t devices = DevicesWithRoom(history, config, privacy::TurnIn(plan, 0));
  if (devices >= plan.cohort) return;
  throw std::invalid_argument(fmt::format(
      "{} of the {} that a round needs have room for a turn: the store's life epsilon is {} at "
      "delta {}; {}; {}; or add devices",
      Counted(devices, "device"), plan.cohort, history.life->epsilon,
      privacy::DeltaText(history.life->delta), DescribeJobAndLife(config),
      HowToRaise(store, history, AllTurnsOf(history, config), plan)));
}

}  // namespace

void RequireAskable(const std::string& store, const History& history, const privacy::Plan& plan) {
  if (!history.recovery || MayRunOnRecovered(plan)) return;
  const bool is_passes = plan.sampling == privacy::Sampling::kPasses;
  throw std::invalid_argument(fmt::format(
      "{}: {} was recovered from an older copy, so the server asks only devices that have shown "
      "their receipts; {} must not depend on that. Begin another job, sotto job start, with "
      "--sampling passes and --order connected",
      is_passes ? "--order fixed" : fmt::format("--sampling {}", privacy::Name(plan.sampling)),
      store, is_passes ? "a list that looks at nobody's presence" : "a secret draw"));
}

void GoOnInLife(const std::string& store, const History& history, const JobEntry* resumed,
                bool agrees, JobConfig* config) {
  privacy::Plan& plan = config->plan;
  RequireAskable(store, history, plan);
  if (resumed == nullptr) {
    if (const std::string why = WhyUnbounded(history); !why.empty()) {
      throw std::invalid_argument(fmt::format("{}: {}", store, why));
    }
  }
  if (plan.sampling != privacy::Sampling::kPasses || !config->codec->noise) {
    RequireRoomForAll(store, history, resumed, *config);
    return;
  }
  config->turns_before = TurnsBefore(history, resumed, plan.colluders);
  config->life_limit = LifeLimitOf(history, plan.certificate);
  if (!config->life_limit) {
    if (resumed == nullptr && !agrees) RequireLife(store, history, *config);
    return;
  }
  if (resumed == nullptr) {
    RequireRoomForAllTurns(store, history, *config);
    RequireRoomForACohort(store, history, *config);
  }
  // With more colluders than an earlier job assumed, its turns cost more than the store counted.
  // And a receipt may show more than the life epsilon that a recovered copy had.
  const privacy::Turns most = MostBounded(history, plan.colluders);
  if (!privacy::HasRoom({}, most, *config->life_limit)) return;
  plan.life_mu_squared = config->life_limit->mu_squared;
  plan.life_coordinates = config->life_limit->coordinates;
  if (history.recovery) plan.life_too_long = config->life_limit->too_long;
}

std::string DescribeLife(const History& history, const JobConfig& config) {
  if (!config.life_limit) return "";
  return fmt::format(
      "the store's life: {}; no device exceeds its life epsilon, {} at delta {}; "
      "{} of {} have room for all their turns in this job",
      DescribeJobAndLife(config), history.life->epsilon, privacy::DeltaText(history.life->delta),
      DevicesWithRoom(history, config, privacy::LimitOf(config.plan)),
      Counted(config.plan.devices, "device"));
}

std::string WarningOfLife(const std::string& store, const History& history,
                          const JobConfig& config) {
  if (!config.life_limit) return "";
  const privacy::Plan& plan = config.plan;
  const int64_t devices = DevicesWithRoom(history, config, privacy::LimitOf(plan));
  if (devices >= plan.devices) return "";
  return fmt::format(
      "{} of {} have room for all their turns in this job: the others are asked less often, and "
      "the job can end before its plan does. For room for all: {}",
      devices, Counted(plan.devices, "device"),
      HowToRaise(store, history, AllTurnsOf(history, config), plan));
}

std::string DescribeSettling(const History& history) {
  if (!history.recovery) return "";
  const SettledDevices settled = SettledIn(history, JobEntry()).value();
  const auto waiting = std::count_if(
      history.devices.begin(), history.devices.end(), [&](const DeviceRecord& device) {
        return device.is_eligible() && settled.devices.count(device.number) == 0;
      });
  if (waiting == 0) return "";
  return fmt::format(
      "the store was recovered from an older copy, so the server asks a device only after it has "
      "shown a receipt: {} not yet; a device without a receipt counts {}",
      Counted(waiting, "device"), DescribeCap(history));
}

}  // namespace sotto::server
