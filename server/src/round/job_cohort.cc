// Who a job asks, and why it waits: see job.h. Part of sotto::server/round.
#include <algorithm>
#include <stdexcept>

#include "base/counted.h"
#include "round/cohort.h"
#include "round/job.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

// All eligible devices, whatever turns they have had.
std::vector<Candidate> EligibleOf(const DeviceRegistry& devices) {
  std::vector<Candidate> all;
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (devices.IsEligible(device)) all.push_back({device, 0, true, devices.OwnerOf(device)});
  }
  return all;
}

}  // namespace

// Why no attempt can be opened now; empty: one can.
std::string Job::Hindrance() const {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (paused_) return "paused; `sotto job resume` lets the job go on";
  }
  const bool is_poisson = config_.plan.sampling == privacy::Sampling::kPoisson;
  const auto least =
      std::max<int64_t>(is_poisson ? 1 : config_.plan.cohort, int64_t{config_.min_devices});
  const int64_t eligible = turns_ ? LargestCohort(EligibleOf(*devices_)) : devices_->eligible();
  if (eligible >= least) return "";
  return Counted(eligible, "device") + OfDifferentOwners() + " of the " + std::to_string(least) +
         " that a round needs; add some with `sotto keys new`";
}

// Of kPasses: what the devices of a cohort are besides, if some have owners.
std::string Job::OfDifferentOwners() const {
  return turns_ && devices_->has_owners() ? " of different owners" : "";
}

// Refuses a new job of kPasses whose owners are too few for any cohort.
void Job::RequireOwners() const {
  if (!turns_) return;
  const std::vector<Candidate> all = EligibleOf(*devices_);
  const uint32_t largest = LargestCohort(all);
  if (int64_t{largest} >= config_.plan.cohort) return;
  const auto has_none = [](const Candidate& each) { return each.owner == 0; };
  const auto without = static_cast<uint32_t>(std::count_if(all.begin(), all.end(), has_none));
  throw std::invalid_argument(
      "--cohort " + std::to_string(config_.plan.cohort) +
      ": two devices of one owner never share a cohort, and the " + Counted(all.size(), "device") +
      " of the store have " + Counted(largest - without, "owner") + " and " +
      Counted(without, "device") + " without an owner, so a cohort has at most " +
      Counted(largest, "device") +
      "; lower --cohort, or add devices of other owners with `sotto keys new`");
}

// Of kPasses: the devices whose limits allow a turn in the next round.
std::vector<Candidate> Job::DevicesWithRoom(Unsettled unsettled) const {
  const int64_t half_a_pass = config_.plan.devices / (2 * config_.plan.cohort);
  const privacy::Turns turn = turns_->TurnIn(round_);
  std::vector<Candidate> devices;
  for (uint32_t device = 0; device < devices_->size(); ++device) {
    const int64_t number = devices_->NumberOf(device);
    if (!devices_->IsEligible(device) || !turns_->HasRoom(number, turn)) continue;
    if (unsettled == Unsettled::kNone && !turns_->HasSettled(number)) continue;
    const int64_t last = turns_->LastRoundOf(number);
    const bool is_rested = last == TurnBook::kNoRound || last + half_a_pass < int64_t{round_};
    devices.push_back({device, turns_->UsedBy(number).count, is_rested, devices_->OwnerOf(device)});
  }
  return devices;
}

// Of these the ones that can be asked now. Order::kFixed looks at nobody's presence.
std::vector<Candidate> Job::HeardOf(std::vector<Candidate> candidates) const {
  if (config_.plan.order == privacy::Order::kFixed || config_.process.hears_all) return candidates;
  const auto since =
      std::chrono::steady_clock::now() - std::chrono::milliseconds(config_.process.heard_within_ms);
  // While the job waits, the last attempt soon says nothing about who is there now.
  const bool is_recent = closed_ >= since;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_away = [&](const Candidate& candidate) {
    const uint32_t device = candidate.device;
    if (device < gone_.size() && gone_[device]) return true;
    const bool in_last_attempt =
        is_recent && device < heard_before_.size() && heard_before_[device];
    return !in_last_attempt && (device >= last_heard_.size() || last_heard_[device] < since);
  };
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), is_away), candidates.end());
  return candidates;
}

std::optional<std::string> Job::WaitingNow() const {
  if (!waits_for_turns_) return std::nullopt;
  const std::vector<Candidate> all = DevicesWithRoom(Unsettled::kAll);
  const bool may_settle = std::any_of(all.begin(), all.end(), [this](const Candidate& each) {
    const int64_t number = devices_->NumberOf(each.device);
    return !turns_->HasSettled(number) && log_.HasShown(number);
  });
  if (may_settle) return "";  // which the next look at the job does, whether it then waits or not
  return HindranceOfTurns(HeardOf(DevicesWithRoom(Unsettled::kNone)), all);
}

// Why a job of kPasses waits; empty: it need not wait, or waiting cannot help. Devices that have
// not settled may have turns, whether or not they are enough: they first show what they have spent.
//   heard  of the devices with room
std::string Job::HindranceOfTurns(const std::vector<Candidate>& heard,
                                  const std::vector<Candidate>& with_room) const {
  const auto least = static_cast<uint32_t>(config_.plan.cohort);
  const uint32_t largest = LargestCohort(heard);
  if (largest >= least) return "";
  const auto unsettled =
      std::count_if(with_room.begin(), with_room.end(), [this](const Candidate& each) {
        return !turns_->HasSettled(devices_->NumberOf(each.device));
      });
  if (unsettled == 0 && LargestCohort(with_room) < least) return "";
  return Counted(largest, "device") + OfDifferentOwners() + " of the " + std::to_string(least) +
         " that a round needs are connected and have a turn left" +
         (unsettled == 0 ? ""
                         : "; the store is a recovered copy, and " + Counted(unsettled, "device") +
                               " must first show a receipt, or be revoked");
}

// DeviceRegistry::NumberOf(), from any thread; -1: not known yet.
int64_t Job::NumberIn(uint32_t device) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const DeviceRegistry& devices = next_devices_ != nullptr ? *next_devices_ : *devices_;
  return device < devices.size() ? devices.NumberOf(device) : -1;
}

// The registry's indices of the attempt's devices.
std::vector<uint32_t> Job::ChooseCohort() const {
  RandomStream random(posix::DeriveKey(server_key_, key_label::kCohort, round_, attempt_), 0);
  const auto cohort = static_cast<uint32_t>(config_.plan.cohort);
  if (turns_) return ChooseByTurns(candidates_, cohort, random);
  return devices_->IndicesOf(server::DrawCohort(config_.plan.sampling, devices_->eligible(), cohort,
                                                random,
                                                static_cast<uint32_t>(config_.plan.devices)));
}

// Draws the attempt's devices and commits them.
void Job::DrawCohort() {
  const std::vector<uint32_t> cohort = ChooseCohort();
  log_.CommitAttempt(
      {round_, attempt_, devices_->PositionsOf(cohort), devices_->eligible(), joined_});
  joined_.clear();
  cohort_ = cohort;
  ++attempts_;
  if (config_.plan.Trust() == privacy::TrustMode::kPrivateNoise) Seal();
}

// Of kPasses: charges the devices that were asked, before the sum of the attempt is read; under
// private noise before any of them learns of it.
void Job::Seal() {
  if (!turns_ || turns_->IsSealed(round_, attempt_)) return;
  const SealRecord seal = {round_, attempt_, Drawn()};
  log_.SealAttempt(seal);
  turns_->Seal(seal);
}

std::vector<int64_t> Job::Drawn() const {
  std::vector<int64_t> devices;
  for (const uint32_t device : cohort_) devices.push_back(devices_->NumberOf(device));
  std::sort(devices.begin(), devices.end());
  return devices;
}

}  // namespace sotto::server
