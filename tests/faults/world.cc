#include "faults/world.h"

#include <algorithm>
#include <cstring>

#include "faults/clock.h"

namespace sotto::server {
namespace {

// More than any seed needs: something goes round in a circle.
constexpr uint64_t kMostEvents = 300'000;

Key KeyOf(uint64_t seed) {
  Key key;
  std::memcpy(key.bytes, &seed, sizeof(seed));
  return key;
}

}  // namespace

World::World(uint64_t seed, bool traces) : dice_(KeyOf(seed), 0), traces_(traces) {
  SetWallClock(0);
}

void World::After(uint64_t delay_ms, Actor* actor, Action action) {
  events_.emplace(std::pair{now_ms_ + delay_ms, next_number_++}, Event{actor, std::move(action)});
}

void World::MoveTo(uint64_t at_ms) {
  now_ms_ = std::max(now_ms_, at_ms);
  SetWallClock(now_ms_);
}

void World::RunUntil(uint64_t at_ms) {
  ++depth_;
  while (!events_.empty() && violation_.empty() && events_.begin()->first.first <= at_ms) {
    MoveTo(events_.begin()->first.first);
    Event event = std::move(events_.begin()->second);
    events_.erase(events_.begin());
    if (++happened_ > kMostEvents) Violate("{} events, and no end", happened_);
    if (event.actor != nullptr && event.actor->held > 0) {
      event.actor->waiting.push_back(std::move(event.action));
    } else {
      event.action();
    }
  }
  MoveTo(at_ms);
  --depth_;
}

void World::Release(Actor* actor) {
  if (actor->held > 0) return;
  std::vector<Action> waiting;
  waiting.swap(actor->waiting);
  for (Action& action : waiting) After(0, actor, std::move(action));
}

}  // namespace sotto::server
