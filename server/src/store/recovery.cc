#include "store/recovery.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <set>

#include "accounting/conversion.h"
#include "accounting/figures.h"
#include "base/counted.h"
#include "sotto/certificate.h"
#include "store/history.h"

namespace sotto::server {
namespace {

constexpr privacy::CertificateBounds kThisEncoder = {kDitherEta, kDitherTau, kDitherRange};
constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr auto kMostTurns = static_cast<double>(privacy::kUnknownTurns);

// As many turns like this one as cost no less than what was charged.
int64_t TurnsFor(const privacy::Turns& charged, const privacy::Turns& turn) {
  double turns = static_cast<double>(charged.count);
  const auto raise = [&](double all, double one) {
    if (all > 0) turns = std::max(turns, std::ceil(all / one * (1 - privacy::kArithmeticMargin)));
  };
  raise(charged.mu_squared, turn.mu_squared);
  raise(charged.coordinates, turn.coordinates);
  raise(charged.too_long, turn.too_long);
  return static_cast<int64_t>(turns < kMostTurns ? turns : kMostTurns);
}

void RaiseTo(const privacy::Turns& least, privacy::Turns* turns) {
  turns->mu_squared = std::max(turns->mu_squared, least.mu_squared);
  turns->coordinates = std::max(turns->coordinates, least.coordinates);
  turns->too_long = std::max(turns->too_long, least.too_long);
}

// Both ascending.
bool HasOneOf(const std::vector<int64_t>& numbers, const std::vector<int64_t>& all) {
  return std::any_of(numbers.begin(), numbers.end(), [&](int64_t number) {
    return std::binary_search(all.begin(), all.end(), number);
  });
}

// The job with which the copy ended, or the first one after it.
bool EndsTheCopy(const History& history, const JobEntry& job) {
  return history.recovery && job.number == std::max<int64_t>(history.recovery->job, 1);
}

// The same, also of an earlier copy whose devices had not all shown what was lost.
bool IsWhereItWasLost(const History& history, const JobEntry& job) {
  return EndsTheCopy(history, job) ||
         (history.recovery && job.number == std::max<int64_t>(history.recovery->first_job, 1));
}

}  // namespace

bool MayRunOnRecovered(const privacy::Plan& plan) {
  return plan.sampling == privacy::Sampling::kPasses && plan.order != privacy::Order::kFixed;
}

std::vector<int64_t> UnshownDevices(const History& history) {
  std::vector<int64_t> unshown;
  if (!history.recovery) return unshown;
  std::set<int64_t> settled;
  for (const JobEntry& job : history.jobs) {
    for (const SettledEntry& entry : job.settled) {
      if (entry.recovery == history.recovery->number) settled.insert(entry.device);
    }
  }
  for (const DeviceRecord& device : history.devices) {
    const bool is_later = device.number > history.recovery->last_device;
    if (!is_later && settled.count(device.number) == 0) unshown.push_back(device.number);
  }
  return unshown;
}

std::optional<privacy::Turns> CapOf(const History& history,
                                    const privacy::CertificateBounds& certificate) {
  if (!history.recovery || !history.recovery->life) return std::nullopt;
  const LifeEpsilon& life = *history.recovery->life;
  privacy::Turns cap = privacy::LifeLimit(life.epsilon, life.delta, certificate);
  cap.count = 0;  // it says how much, not in how many turns
  return cap;
}

TurnsByDevice TurnsAtMost(const History& history, int64_t colluders) {
  TurnsByDevice turns = TurnsBefore(history, nullptr, colluders);
  privacy::Turns least;
  least.mu_squared = kUnlimited;
  if (const auto cap = CapOf(history, kThisEncoder)) least = *cap;
  for (const int64_t device : UnshownDevices(history)) RaiseTo(least, &turns[device]);
  return turns;
}

privacy::Turns MostBounded(const History& history, int64_t colluders) {
  TurnsByDevice turns = TurnsBefore(history, nullptr, colluders);
  const std::vector<int64_t> unshown = UnshownDevices(history);
  const bool is_capped = history.recovery && history.recovery->life;
  for (const DeviceRecord& device : history.devices) {
    if (!std::binary_search(unshown.begin(), unshown.end(), device.number)) continue;
    turns.erase(device.number);
    if (!is_capped && device.is_eligible()) turns[device.number].mu_squared = kUnlimited;
  }
  return MostOf(turns, history, false);
}

bool LostSome(const History& history, const JobEntry& job) {
  return IsWhereItWasLost(history, job) || !job.settled.empty();
}

std::optional<privacy::SpentRounds> LostBeside(const History& history, const JobEntry& job,
                                               const std::vector<int64_t>& devices, bool is_own) {
  if (!LostSome(history, job)) return std::nullopt;
  privacy::SpentRounds lost;
  lost.plan = PlanOf(history, job);
  lost.plan.schedule = {};
  const privacy::Turns turn = privacy::TurnIn(lost.plan, 0);
  const bool is_passes = lost.plan.sampling == privacy::Sampling::kPasses;
  std::map<int64_t, int64_t> turns;
  for (const SettledEntry& entry : job.settled) {
    turns[entry.device] += TurnsFor(entry.charged, turn);
  }
  for (const SealRecord& seal : job.seals) {
    if (!is_passes) break;  // its rounds are charged by themselves
    for (const int64_t device : seal.devices) ++turns[device];
  }
  int64_t most = 0;
  for (const auto& [device, count] : turns) {
    if (std::binary_search(devices.begin(), devices.end(), device)) most = std::max(most, count);
  }
  most -= is_passes ? lost.plan.participations : 0;
  if (!is_own && IsWhereItWasLost(history, job) && HasOneOf(UnshownDevices(history), devices)) {
    // Of lost jobs of which nothing is known: the store's life limit alone bounds this.
    most = privacy::kUnknownTurns;
    lost.plan.too_long = lost.plan.private_noise_multiplier = 0;
  }
  if (most <= 0) return std::nullopt;
  lost.plan.sampling = privacy::Sampling::kPasses;
  lost.plan.participations = lost.plan.rounds = most;
  lost.rounds = lost.updates = most;
  lost.turns = most;
  return lost;
}

std::string DescribeCap(const History& history) {
  const std::optional<LifeEpsilon>& life = history.recovery->life;
  if (!life) return "as spent for good, since the copy has no life epsilon";
  return fmt::format("as if it had spent the life epsilon, {} at delta {}, whole", life->epsilon,
                     privacy::DeltaText(life->delta));
}

std::string DescribeRecovery(const History& history, const JobEntry& job) {
  if (!EndsTheCopy(history, job)) return "";
  const std::vector<int64_t> all_unshown = UnshownDevices(history);
  int64_t before = 0;
  int64_t unshown = 0;
  int64_t revoked = 0;  // and unshown
  for (const DeviceRecord& device : history.devices) {
    const bool is_unshown =
        std::binary_search(all_unshown.begin(), all_unshown.end(), device.number);
    before += device.is_eligible() && device.number <= history.recovery->last_device ? 1 : 0;
    (device.is_eligible() ? unshown : revoked) += is_unshown ? 1 : 0;
  }
  const std::string text = fmt::format(
      "recovered {:%F %T}Z from an older copy: {} of {} have settled since, each charged for what "
      "its receipt has above the copy",
      fmt::gmtime(static_cast<std::time_t>(history.recovery->since)), before - unshown,
      Counted(before, "device"));
  if (unshown + revoked == 0) return text;
  return text + fmt::format("; each {} counts {}",
                            unshown == 0 ? "revoked one that has not" : "other one",
                            DescribeCap(history));
}

std::string DescribeRecovery(const History& history) {
  if (!history.recovery) return "";
  for (const JobEntry& job : history.jobs) {
    if (std::string text = DescribeRecovery(history, job); !text.empty()) return text;
  }
  return fmt::format("recovered {:%F %T}Z from an older copy",
                     fmt::gmtime(static_cast<std::time_t>(history.recovery->since)));
}

std::string WhyUnbounded(const History& history) {
  if (!history.recovery || history.recovery->life) return "";
  const std::vector<int64_t> unshown = UnshownDevices(history);
  const auto is_unbounded = [&](const DeviceRecord& device) {
    return device.is_eligible() &&
           std::binary_search(unshown.begin(), unshown.end(), device.number);
  };
  const auto count = std::count_if(history.devices.begin(), history.devices.end(), is_unbounded);
  if (count == 0) return "";
  constexpr int64_t kNamesShown = 10;
  std::string names;
  int64_t named = 0;
  for (const DeviceRecord& device : history.devices) {
    if (!is_unbounded(device) || named++ >= kNamesShown) continue;
    names += (names.empty() ? "" : ", ") + device.id;
  }
  if (count > kNamesShown) names += fmt::format(" and {} more", count - kNamesShown);
  const bool can_show = LastJob(history) != nullptr;  // whose turns they then count as
  return fmt::format(
      "it was recovered from an older copy without a life epsilon, and nothing bounds what {} may "
      "have spent that {} shown no receipt since ({}): {}revoke them with `sotto keys revoke`, and "
      "register them under new names",
      Counted(count, "device"), count == 1 ? "has" : "have", names,
      can_show ? "each settles as soon as it connects to this store's server, with or without a "
                 "job; wait for them, or "
               : "");
}

std::string WhyNotForAll(const History& history) {
  if (!history.recovery || history.jobs.empty()) return "";
  const JobEntry& last = history.jobs.back();
  const bool has_lost_others =
      (IsWhereItWasLost(history, last) && !UnshownDevices(history).empty()) ||
      LostBeside(history, last, last.devices, true).has_value();
  if (!has_lost_others) return "";
  std::string why =
      "the store was recovered from an older copy, and a job that the copy does not have is not "
      "counted";
  const std::optional<LifeEpsilon>& life = history.life;
  if (!life || !history.recovery->life) return why;
  const privacy::Turns most = MostBounded(history);
  if (!privacy::HasRoom({}, most, privacy::LifeLimit(life->epsilon, life->delta, kThisEncoder)))
    return why;
  return why + fmt::format("; no device exceeds the life epsilon, {} at delta {}", life->epsilon,
                           privacy::DeltaText(life->delta));
}

}  // namespace sotto::server
