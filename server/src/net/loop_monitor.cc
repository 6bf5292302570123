#include "net/loop_monitor.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/thread_cpu.h"

namespace sotto::server {

const char* LoopMonitor::NameOf(LoopWork work) {
  constexpr const char* kNames[kLoopWorks] = {"accept", "strangers", "handshake", "request",
                                              "tick",   "round",     "page"};
  return kNames[static_cast<int>(work)];
}

void LoopMonitor::Start(uv_loop_t* loop) {
  int error = uv_loop_configure(loop, UV_METRICS_IDLE_TIME);
  if (error == 0) error = uv_prepare_init(loop, &prepare_);
  prepare_.data = this;
  const auto on_turn = [](uv_prepare_t* handle) {
    static_cast<LoopMonitor*>(handle->data)->OnTurn();
  };
  if (error == 0) error = uv_prepare_start(&prepare_, on_turn);
  if (error == 0) error = uv_check_init(loop, &check_);
  check_.data = this;
  const auto on_wake = [](uv_check_t* handle) {
    static_cast<LoopMonitor*>(handle->data)->OnWake();
  };
  if (error == 0) error = uv_check_start(&check_, on_wake);
  if (error != 0) {
    throw std::runtime_error(fmt::format("measuring the event loop: {}", uv_strerror(error)));
  }
}

void LoopMonitor::Stop() {
  for (auto* handle :
       {reinterpret_cast<uv_handle_t*>(&prepare_), reinterpret_cast<uv_handle_t*>(&check_)}) {
    if (handle->loop != nullptr && !uv_is_closing(handle)) uv_close(handle, nullptr);
  }
}

// The time so far that is no sleep for what the thread did in it.
uint64_t LoopMonitor::ExplainedNs() const { return kShare * ThreadCpuNs() + waited_ns_; }

// The turn so far. Callbacks of sockets run before OnWake(): their computing counts as the wait's,
// which makes a sleep shorter, never longer.
uint64_t LoopMonitor::SleepOfTurn() const {
  if (woke_ns_ == 0) return 0;
  const uint64_t turn_ns = uv_hrtime() - woke_ns_;
  const uint64_t explained_ns = ExplainedNs() - woke_explained_ns_;
  const uint64_t rest_ns = turn_ns - std::min(turn_ns, explained_ns);
  return rest_ns < kShortestSleepNs ? 0 : rest_ns;
}

// Called right after the loop has waited.
void LoopMonitor::OnWake() {
  const uint64_t all_explained_ns = ExplainedNs();
  const uint64_t since_ns = uv_hrtime() - last_ns_;
  // What arrived ended the wait and was taken before this call, so its computing is not a sleep.
  const uint64_t explained_ns = wait_ns_ + all_explained_ns - last_explained_ns_;
  const uint64_t rest_ns = since_ns - std::min(since_ns, explained_ns);
  if (last_ns_ != 0 && rest_ns >= kShortestSleepNs) slept_ns_ += rest_ns;
  woke_ns_ = uv_hrtime();
  woke_explained_ns_ = all_explained_ns;
}

// Called right before the loop waits: a turn is over.
void LoopMonitor::OnTurn() {
  slept_ns_ += SleepOfTurn();
  woke_ns_ = 0;
  const int wait_ms = uv_backend_timeout(prepare_.loop);
  wait_ns_ = wait_ms < 0 ? ~uint64_t{0} / 2 : uint64_t{1'000'000} * static_cast<uint64_t>(wait_ms);
  const uint64_t cpu_ns = ThreadCpuNs();
  if (last_ns_ != 0) longest_cpu_ns_ = std::max(longest_cpu_ns_, cpu_ns - last_cpu_ns_);
  last_cpu_ns_ = cpu_ns;
  last_explained_ns_ = ExplainedNs();
  const uint64_t now_ns = uv_hrtime();
  const uint64_t idle_ns = uv_metrics_idle_time(prepare_.loop);
  if (last_ns_ != 0) {
    const uint64_t idle_since_ns = idle_ns - last_idle_ns_;
    const uint64_t turn_ns = now_ns - last_ns_;
    longest_turn_ns_ = std::max(longest_turn_ns_, turn_ns - std::min(turn_ns, idle_since_ns));
  }
  last_ns_ = now_ns;
  last_idle_ns_ = idle_ns;
}

LoopMonitor::Piece::~Piece() { longest_ns_ = std::max(longest_ns_, uv_hrtime() - begin_ns_); }

}  // namespace sotto::server
