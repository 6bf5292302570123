#include "net/loop_monitor.h"

#include <algorithm>
#include <ctime>
#include <fmt/format.h>
#include <stdexcept>

namespace sotto::server {
namespace {

// What this thread has computed so far.
uint64_t ThreadCpuNs() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

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
  if (error != 0) {
    throw std::runtime_error(fmt::format("measuring the event loop: {}", uv_strerror(error)));
  }
}

void LoopMonitor::Stop() {
  auto* handle = reinterpret_cast<uv_handle_t*>(&prepare_);
  if (handle->loop != nullptr && !uv_is_closing(handle)) uv_close(handle, nullptr);
}

// Called right before the loop waits: a turn is over.
void LoopMonitor::OnTurn() {
  const uint64_t cpu_ns = ThreadCpuNs();
  if (last_ns_ != 0) longest_cpu_ns_ = std::max(longest_cpu_ns_, cpu_ns - last_cpu_ns_);
  last_cpu_ns_ = cpu_ns;
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
