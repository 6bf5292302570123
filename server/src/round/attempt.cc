#include "round/attempt.h"

#include <algorithm>

namespace sotto::server {

Attempt::Attempt(const JobConfig& config, SharedDevices devices, const TrainTask& task,
                 std::vector<uint32_t> drawn, ModelCodes& codes, std::optional<Key> salts)
    : config_(config),
      task_(task, config),
      drawn_(std::move(drawn)),
      codes_(codes),
      codec_(config.codec->make(task)),
      devices_(std::move(devices)),
      members_(drawn_.size()),
      is_checked_in_(devices_->size()),
      is_heard_(devices_->size()),
      salts_(salts),
      sum_(config.coordinates()) {}

void Attempt::SetDevices(SharedDevices devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < drawn_.size(); ++i) {
    Member& member = members_[i];
    const bool is_waiting =
        member.state == MemberState::kInvited || member.state == MemberState::kUploading;
    if (!is_waiting) continue;
    if (!devices->IsEligible(drawn_[i])) {
      member.state = MemberState::kRevoked;
      member.bytes = {};
      ++revoked_;
    } else if (!IsSameSecret((*devices)[drawn_[i]].secret, (*devices_)[drawn_[i]].secret)) {
      // Bytes of the former session may still be on their way to Answer(): they find no upload.
      const bool may_have_come = member.state == MemberState::kUploading;
      if (may_have_come && config_.plan.Trust() != privacy::TrustMode::kTrustedServer) {
        Reject(member);
      } else {
        member = Member();
      }
    }
  }
  devices_ = std::move(devices);
}

void Attempt::NoteAlive(uint32_t device) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const size_t index = IndexOfDrawn(device);
  if (index < drawn_.size()) members_[index].heard = std::chrono::steady_clock::now();
}

void Attempt::CheckInToo(const std::vector<bool>& devices) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t device = 0; device < devices.size(); ++device) {
    if (devices[device]) CheckIn(device);
  }
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
    count += state == MemberState::kInvited || state == MemberState::kUploading ||
                     state == MemberState::kDecoding
                 ? 1
                 : 0;
  }
  return count;
}

bool Attempt::IsComplete() const {
  if (!config_.close_early()) return false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const bool is_timed = config_.process.report_after_ms > 0 && untimed_.empty();
  if (config_.plan.timed_reports && !is_timed) return false;
  // Only an attempt that will be released may end early. So it stays open until enough devices have
  // checked in.
  return open_ && counts_.checked_in >= config_.min_devices &&
         counts_.reported + counts_.rejected + revoked_ + CountUnable() == drawn_.size();
}

std::vector<uint32_t> Attempt::Silent() const {
  const uint32_t after_ms = config_.process.report_after_ms;
  std::vector<uint32_t> silent;
  if (after_ms == 0) return silent;
  const auto report_time = opened_ + std::chrono::milliseconds(after_ms);
  const auto announced = std::chrono::milliseconds(after_ms / 8);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < drawn_.size(); ++i) {
    const Member& member = members_[i];
    const bool is_uploading = member.state == MemberState::kUploading;
    const bool is_awaited =
        lacking_.count(drawn_[i]) == 0 && (is_uploading || member.state == MemberState::kInvited);
    const auto speaks_at = is_uploading ? report_time + announced : report_time;
    if (is_awaited && member.heard < speaks_at) silent.push_back(drawn_[i]);
  }
  return silent;
}

PartialSum Attempt::Close() {
  std::unique_lock<std::mutex> lock(mutex_);
  open_ = false;
  decoded_.wait(lock, [this] { return decoding_ == 0; });
  std::sort(counts_.reporters.begin(), counts_.reporters.end());
  std::sort(counts_.beyond_bound.begin(), counts_.beyond_bound.end());
  PartialSum part(sum_.Take());
  part.counts = counts_;
  part.counts.is_checked_in = is_checked_in_;
  part.counts.is_heard = is_heard_;
  part.counts.lacking = CountLacks(task_, lacking_, drawn_);
  return part;
}

}  // namespace sotto::server
