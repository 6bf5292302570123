#include "net/request_pace.h"

#include <algorithm>

namespace sotto::server {

uint64_t RequestPace::AnswerAt(uint32_t device, Request::Kind kind, uint64_t now_ms) {
  Device& state = devices_[device];
  uint64_t at_ms = state.requests.FreeAt(kRequestRate, now_ms);
  state.requests.Take(kRequestRate, at_ms);
  if (kind != Request::Kind::kHello || now_ms >= state.waits_until_ms) return at_ms;
  if (state.early_hellos.IsFree(kEarlyHelloRate, now_ms)) {
    state.early_hellos.Take(kEarlyHelloRate, now_ms);
    return at_ms;
  }
  return std::max(at_ms, std::min(state.waits_until_ms, now_ms + kLongestDelayMs));
}

void RequestPace::OnReply(uint32_t device, const Reply& reply, uint64_t now_ms) {
  uint64_t& waits_until_ms = devices_[device].waits_until_ms;
  if (reply.kind == Reply::Kind::kTrain || reply.kind == Reply::Kind::kDone) waits_until_ms = 0;
  if (reply.kind != Reply::Kind::kWait && (reply.kind != Reply::Kind::kError || reply.final))
    return;
  // The clocks of boards are not exact: one that is an eighth too fast is in time.
  const uint64_t wait_ms = reply.wait_ms - reply.wait_ms / 8;
  waits_until_ms = std::max(waits_until_ms, now_ms + wait_ms);
}

}  // namespace sotto::server
