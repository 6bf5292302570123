#include "net/loop.h"

namespace sotto::server {

void Server::Loop::StartGuest() {
  if (!guest_.run) return;
  uv_timer_init(&loop_, &guest_timer_);
  uv_poll_init(&loop_, &guest_poll_, guest_.descriptor);
  guest_timer_.data = guest_poll_.data = this;
  uv_poll_start(&guest_poll_, UV_READABLE,
                [](uv_poll_t* poll, int, int) { static_cast<Loop*>(poll->data)->RunGuest(); });
  RunGuest();
}

void Server::Loop::RunGuest() {
  const LoopMonitor::Piece piece(monitor_, LoopWork::kGuest);
  const std::optional<uint64_t> wait_ms = guest_.run();
  if (!wait_ms) {
    uv_timer_stop(&guest_timer_);
    return;
  }
  uv_timer_start(
      &guest_timer_, [](uv_timer_t* timer) { static_cast<Loop*>(timer->data)->RunGuest(); },
      *wait_ms, 0);
}

}  // namespace sotto::server
