#include "round/attempt.h"

#include <algorithm>

namespace sotto::server {

Attempt::Attempt(const JobConfig& config, const DeviceRegistry& devices, const TrainTask& task,
                 std::vector<uint32_t> drawn, ByteSpan model)
    : config_(config),
      devices_(devices),
      task_(task),
      drawn_(std::move(drawn)),
      model_(model),
      codec_(config.codec->make(task)),
      members_(drawn_.size()),
      is_checked_in_(devices.size()),
      is_heard_(devices.size()),
      sum_(config.coordinates()) {}

void Attempt::CheckInToo(const std::vector<bool>& devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (devices[device]) CheckIn(device);
  }
}

std::vector<bool> Attempt::Heard() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return is_heard_;
}

LackCounts Attempt::Lacking() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return CountLacks(task_, lacking_, drawn_);
}

// The drawn devices that lack something and have not reported.
uint32_t Attempt::CountUnable() const {
  uint32_t count = 0;
  for (const auto& [device, abilities] : lacking_) {
    const size_t index = IndexOfDrawn(device);
    if (index == drawn_.size()) continue;
    const MemberState state = members_[index].state;
    count += state != MemberState::kReported && state != MemberState::kRejected ? 1 : 0;
  }
  return count;
}

bool Attempt::IsComplete() const {
  if (!config_.close_early()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  // Only an attempt that will be released may end early. So it stays open until enough devices have
  // checked in.
  return open_ && counts_.checked_in >= config_.min_devices &&
         counts_.reported + counts_.rejected + CountUnable() == drawn_.size();
}

PartialSum Attempt::Close() {
  std::unique_lock<std::mutex> lock(mutex_);
  open_ = false;
  decoded_.wait(lock, [this] { return decoding_ == 0; });
  std::sort(counts_.beyond_bound.begin(), counts_.beyond_bound.end());
  PartialSum part(sum_.Take());
  part.counts = counts_;
  part.counts.lacking = CountLacks(task_, lacking_, drawn_);
  return part;
}

}  // namespace sotto::server
