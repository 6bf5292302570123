#include "store/device_receipts.h"

#include <algorithm>
#include <iterator>
#include <limits>

#include "accounting/conversion.h"
#include "round/job_config.h"

namespace sotto::server {
namespace {

privacy::Plan PlanWithRounds(const History& history, const JobEntry& job) {
  privacy::Plan plan = PlanOf(history, job);
  plan.rounds = PlanNow(history.store, job).rounds;
  if (!(plan.delta > 0)) plan.delta = 0.5;  // a job without privacy has none
  return plan;
}

// Whether the receipt has these numbers, as a receipt rounds them.
bool Agrees(const privacy::Turns& in_receipt, const privacy::Turns& turns) {
  const auto agrees = [](double number, double exact) {
    return number <= static_cast<double>(FloatAtLeast(exact * (1 + privacy::kArithmeticMargin)));
  };
  return agrees(in_receipt.mu_squared, turns.mu_squared) &&
         agrees(in_receipt.coordinates, turns.coordinates) &&
         agrees(in_receipt.too_long, turns.too_long);
}

// What a receipt's number has above the store's, which a receipt would have rounded up. Turns that
// the store does not have can be smaller than that rounding.
double Above(double in_receipt, double held, bool misses_turns) {
  const double least = misses_turns ? held : static_cast<double>(FloatAtLeast(held));
  return in_receipt > least ? in_receipt - held : 0.0;
}

}  // namespace

DeviceReceipts::DeviceReceipts(const Key& key, const History& history)
    : receipts_(key),
      number_(history.jobs.empty() ? 0 : history.jobs.back().number),
      recovery_(history.recovery),
      charged_(TurnsBefore(history, nullptr)) {
  if (history.jobs.empty()) return;
  const JobEntry& last = history.jobs.back();
  plan_ = PlanWithRounds(history, last);
  settled_ = SettledIn(history, last);
  std::copy(std::begin(last.job_id), std::end(last.job_id), job_id_.begin());
  if (!recovery_) return;
  for (const JobEntry& job : history.jobs) {
    std::array<uint8_t, kJobIdSize> id = {};
    std::copy(std::begin(job.job_id), std::end(job.job_id), id.begin());
    jobs_[id] = {job.number, PlanWithRounds(history, job)};
    for (const SettledEntry& entry : job.settled) {
      if (entry.recovery == recovery_->number) settled_with_[entry.device] = entry.receipt;
    }
  }
}

void DeviceReceipts::Charge(const SealRecord& seal) {
  const privacy::Turns turn = privacy::TurnIn(plan_, seal.round);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const int64_t device : seal.devices) charged_[device] = charged_[device] + turn;
  sealed_ = {seal.round, seal.attempt};
}

ByteSpan DeviceReceipts::Of(uint32_t round, uint32_t attempt, int64_t device) {
  privacy::Turns turns = privacy::TurnIn(plan_, round);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto held = charged_.find(device);
    const bool is_charged = sealed_ == std::make_pair(round, attempt);
    if (is_charged) turns = {};
    if (held != charged_.end()) turns = turns + held->second;
  }
  return receipts_.Of({job_id_.data(), job_id_.size()}, round, attempt, device, turns);
}

void DeviceReceipts::Check(ByteSpan receipt, int64_t device) {
  const Receipts::Seen seen = receipts_.Read(receipt);
  if (!recovery_) {
    if (!seen.why_stale.empty()) throw StaleLog(seen.why_stale);
    return;
  }
  if (device < 0) return;  // it is too new for the job, which does not ask it
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto settled = settled_with_.find(device);
  if (settled != settled_with_.end()) {
    const bool is_same =
        std::equal(receipt.begin(), receipt.end(), settled->second.begin(), settled->second.end());
    if (!is_same && !seen.why_stale.empty()) throw StaleLog(seen.why_stale);
    return;
  }
  const bool is_later = device > recovery_->last_device;
  if (!seen.turns && !is_later) return;
  Shown shown;
  if (seen.turns) {
    shown.receipt.assign(receipt.begin(), receipt.end());
    shown.turns = *seen.turns;
    const auto job = jobs_.find(seen.job_id);
    if (job != jobs_.end()) shown.job = &job->second;
  }
  shown.is_later = is_later;
  shown_[device] = std::move(shown);
}

bool DeviceReceipts::HasShown(int64_t device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return shown_.count(device) != 0;
}

// What a receipt has above the store are turns of its job, unless another copy was recovered
// between. If the receipt agrees they are charged without its rounding, which would take a device's
// last turn.
SettledEntry DeviceReceipts::EntryOf(int64_t device, const privacy::Turns& held,
                                     const Shown& shown) const {
  const bool is_earlier = shown.job != nullptr && !shown.is_later;
  SettledEntry entry = {
      recovery_->number, device, shown.receipt, {}, is_earlier ? shown.job->number : number_};
  privacy::Turns& missing = entry.charged;
  missing.count = std::max<int64_t>(shown.turns.count - held.count, 0);
  if (shown.job != nullptr && shown.job->plan.schedule.IsConstant()) {
    const privacy::Turns turn = privacy::TurnIn(shown.job->plan, 0);
    privacy::Turns turns;
    for (int64_t i = 0; i < missing.count; ++i) turns = turns + turn;
    if (Agrees(shown.turns, held + turns)) {
      missing = turns;
      return entry;
    }
  }
  const bool misses_turns = missing.count > 0;
  missing.mu_squared = Above(shown.turns.mu_squared, held.mu_squared, misses_turns);
  missing.coordinates = Above(shown.turns.coordinates, held.coordinates, misses_turns);
  missing.too_long = Above(shown.turns.too_long, held.too_long, misses_turns);
  return entry;
}

void DeviceReceipts::Settle(const Write& write) {
  std::vector<SettledEntry> entries;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [device, shown] : shown_) {
      const auto held = charged_.find(device);
      entries.push_back(
          EntryOf(device, held == charged_.end() ? privacy::Turns() : held->second, shown));
    }
  }
  if (entries.empty()) return;
  write(entries);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const SettledEntry& entry : entries) {
    charged_[entry.device] = charged_[entry.device] + entry.charged;
    settled_with_[entry.device] = entry.receipt;
    shown_.erase(entry.device);
    settled_->devices.insert(entry.device);
    auto& charged = entry.job == number_ ? settled_->charged : settled_->charged_before;
    charged[entry.device] = charged[entry.device] + entry.charged;
  }
}

}  // namespace sotto::server
