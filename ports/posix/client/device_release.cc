// The released model that a device keeps: --keep-model.
#include "device.h"
#include "sotto/posix/port.h"

namespace sotto::posix {
namespace {

constexpr uint64_t kAskReleaseMs = 300'000;  // while nothing else says that there is a new one

}  // namespace

// The device waits. While no round is under way it takes each release that the server names. In a
// job there is one a round: then it asks when a round in which it took part is over, and now and
// then. The same from an older server, which names none. Nothing of it depends on the data.
void Device::FetchIfDue(WaitState state) {
  if (!keeper_.is_on() || model() == nullptr || client().is_fetching()) return;
  const Client::News news = client().news();
  if (news == Client::News::kNone) return;
  const bool is_between = news == Client::News::kReleased && state != WaitState::kRounds;
  const bool is_news = is_between || fetched_in_ != state;
  if (!is_news && NowMs() - fetched_at_ms_ < kAskReleaseMs) return;
  fetched_in_ = state;
  fetched_at_ms_ = NowMs();
  client().FetchRelease(claims_);
}

// With --once.
std::optional<Ending> Device::FetchAtEnd() {
  if (!keeper_.is_on() || model() == nullptr || is_over_) return Ending{};
  is_over_ = true;
  client().FetchRelease(claims_);
  return std::nullopt;
}

// After a reply while a released model is fetched. A failure keeps the device out of no round.
std::optional<Ending> Device::FollowFetch(Status status, const Reply& reply) {
  if (client().is_fetching()) return std::nullopt;
  if (status != Status::kOk || client().release() == nullptr) {
    const Failure failure = FailureOf(reply, status);
    if (client().is_refused()) return Ending{Outcome::kRefused, failure.reason, failure.code};
    reporter_.NoRelease(reply, status);
    // Nothing is released yet: the device asks at each Wait.
    if (reply.kind == Reply::Kind::kError && reply.code == ErrorCode::kBusy) fetched_in_.reset();
    return std::nullopt;
  }
  has_model_ = true;
  const Release& release = *client().release();
  if (!keeper_.Keep(*model(), release, trainee_->base())) return std::nullopt;
  reporter_.KeptRelease(release, client().downloaded_bytes());
  return std::nullopt;
}

}  // namespace sotto::posix
