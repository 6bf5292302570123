// What other processes have changed about the fleet, and who has connected while the job waits for
// devices: see loop.h. Part of sotto::server/net.
#include <utility>

#include "net/loop.h"

namespace sotto::server {

// The keys of a handshake, from the fleet as it is now.
Status Server::Loop::FindKey(void* context, ByteSpan identity, Key* psk) {
  const auto* self = static_cast<const Loop*>(context);
  const std::string name(reinterpret_cast<const char*>(identity.data()), identity.size());
  return self->handshaking_->FindKey(*self, name, psk);
}

Status Server::Loop::FindCurrentKey(void* context, ByteSpan identity, Key* psk) {
  const auto* self = static_cast<const Loop*>(context);
  const std::string name(reinterpret_cast<const char*>(identity.data()), identity.size());
  return self->handshaking_->FindCurrentKey(*self, name, psk);
}

// With each tick, unless the last look is still under way.
void Server::Loop::WatchFleet() {
  if (in_watch_ || (finished_ && !source_->stays()) || stopping_) return;
  in_watch_ = true;
  has_job_in_watch_ = job_ != nullptr;
  watch_work_.data = this;
  uv_queue_work(
      &loop_, &watch_work_,
      [](uv_work_t* work) {
        auto* self = static_cast<Loop*>(work->data);
        try {
          if (self->events_.watch) self->news_ = self->events_.watch();
          if (const auto& news = self->news_) {
            self->handles_ = FindHandles(*news->devices, news->changed, news->former.get());
          }
          if (self->has_job_in_watch_) {
            self->must_end_ = self->source_->MustEnd();
          } else {
            self->next_job_ = self->source_->Next();
          }
        } catch (...) {
          self->watch_failure_ = std::current_exception();
        }
      },
      [](uv_work_t* work, int) { static_cast<Loop*>(work->data)->OnWatched(); });
}

void Server::Loop::OnWatched() {
  in_watch_ = false;
  if (watch_failure_) {
    Fail(watch_failure_);
    return;
  }
  std::optional<FleetNews> news = std::exchange(news_, std::nullopt);
  Job* const next = std::exchange(next_job_, nullptr);
  ending_ = std::exchange(must_end_, std::nullopt);
  if (stopping_) return;
  if (news) {
    for (const std::string& line : news->lines) events_.info(line);
    TakeFleet(std::move(*news));
  }
  try {
    if (next != nullptr) Serve(*next);
  } catch (...) {
    Fail(std::current_exception());
    return;
  }
  EndJobIfAsked();
  if (!news) return;
  CloseIfComplete();
  if (waits_ && !in_step_) EndWait();
}

// With each tick while the job waits: enough devices may be connected now, and viewers see how many
// are.
void Server::Loop::LookWhetherToWait() {
  const std::optional<std::string> reason = job_->WaitingNow();
  if (!reason) return;
  if (reason->empty()) {
    EndWait();
  } else if (*reason != phase_.reason) {
    phase_.goes_on = true;
    Tell(ServerPhase::Kind::kWaiting, *reason);
  }
}

void Server::Loop::TakeFleet(FleetNews news) {
  ++fleet_;
  for (const uint32_t device : news.changed) {
    const bool is_new = device >= devices_->size();
    const bool has_other_secret =
        !is_new && !IsSameSecret((*devices_)[device].secret, (*news.devices)[device].secret);
    if (has_other_secret) rekeyed_[device] = fleet_;
    if (!news.devices->IsEligible(device)) to_be_told_.erase(device);
  }
  tokens_.SetDevices(news.devices, news.changed, handles_.devices);
  if (news.former != nullptr) Remember(news.former, std::move(handles_.former));
  pace_.Resize(news.devices->size());
  devices_ = news.devices;
  CloseChanged(news.changed);
  if (job_ == nullptr) return;
  job_->SetPaused(news.paused);
  job_->SetFleet(std::move(news.devices), std::move(news.spent_before));
}

// A device that was revoked, or has another key, has no session any more.
void Server::Loop::CloseChanged(const std::vector<uint32_t>& changed) {
  for (const uint32_t device : changed) {
    const auto found = by_device_.find(device);
    if (found == by_device_.end()) continue;
    if (devices_->IsEligible(device)) {
      Dismiss(*found->second, ErrorCode::kKeyRotated, "has another key now");
    } else {
      Dismiss(*found->second, ErrorCode::kKeyRevoked, "was revoked");
    }
  }
}

}  // namespace sotto::server
