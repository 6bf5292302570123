// The world of a simulation of faults: its clock, what happens next, its dice, and what was seen in
// it. One seed decides all of it.
//
// Time stands still while something happens, and moves to the next thing that does. One that has to
// wait in the middle of a call, as for a database, lets the others go on by RunUntil(). It nests:
// of two that wait, the one that began last goes on first. That excludes some orders of events and
// makes up none.
//
// One thread.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "sotto/random.h"

namespace sotto::server {

// One that acts. While it is held, what happens to it waits.
struct Actor {
  int held = 0;
  std::vector<std::function<void()>> waiting;
};

class World {
 public:
  using Action = std::function<void()>;

  explicit World(uint64_t seed, bool traces = false);

  uint64_t now_ms() const { return now_ms_; }
  // In how many nested calls of RunUntil().
  int depth() const { return depth_; }

  // The dice. A chance is at most 1; after Calm() no fault happens any more.
  uint32_t Below(uint32_t bound) { return dice_.Below(bound); }
  uint64_t Between(uint64_t least, uint64_t most) {
    return least + Below(static_cast<uint32_t>(most - least + 1));
  }
  bool Happens(double chance) { return dice_.NextU32() < chance * 0x1p32; }
  bool Fails(double chance) { return !is_calm_ && Happens(chance); }
  void Calm() { is_calm_ = true; }
  bool is_calm() const { return is_calm_; }

  // Things happen in the order of their times, and at one time in the order of these calls.
  //   actor  null: nobody who could be held
  void After(uint64_t delay_ms, Actor* actor, Action action);
  void RunUntil(uint64_t at_ms);
  // What has waited for an actor that is not held any more happens now.
  void Release(Actor* actor);

  // Something that must never be. The first one counts; nothing happens after it.
  template <typename... Values>
  void Violate(const char* format, const Values&... values) {
    if (!violation_.empty()) return;
    violation_ = fmt::format(fmt::runtime(format), values...);
    Tell("VIOLATION: {}", violation_);
  }
  const std::string& violation() const { return violation_; }

  // A line of the trace.
  template <typename... Values>
  void Tell(const char* format, const Values&... values) {
    if (!traces_) return;
    trace_.push_back(fmt::format("{:9.3f} ", 1e-3 * static_cast<double>(now_ms_)) +
                     fmt::format(fmt::runtime(format), values...));
  }
  const std::vector<std::string>& trace() const { return trace_; }

 private:
  void MoveTo(uint64_t at_ms);

  struct Event {
    Actor* actor;
    Action action;
  };

  RandomStream dice_;
  const bool traces_;
  uint64_t now_ms_ = 0;
  uint64_t next_number_ = 0;
  uint64_t happened_ = 0;
  int depth_ = 0;
  bool is_calm_ = false;
  std::map<std::pair<uint64_t, uint64_t>, Event> events_;  // by time and number
  std::string violation_;
  std::vector<std::string> trace_;
};

}  // namespace sotto::server
