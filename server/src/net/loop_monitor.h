// How long an event loop is busy. Part of sotto::server/net.
//
// A turn of the loop begins when it stops to wait for events, and ends when it waits again. Its
// length is the time in which nobody else is served: a stall. The times are wall-clock times, so
// they include what the operating system gives to other programs; longest_cpu_ms() does not.
//
// A sleep is time in which the thread was not run although it asked to be: the process was stopped
// or swapped out, its machine paused. What this process computes never counts as a sleep, whatever
// the load (round/job.cc, lemma 9):
//   - while the loop waits for events, only what exceeds the time for which it wanted to wait;
//   - within a turn, only what exceeds kShare times the thread's own computing. At most kShare
//     threads of this process compute at a time, so a fair scheduler gives each of them 1 / kShare
//     of a processor or more;
//   - nothing while a Wait lives.
// Less than kShortestSleepNs is scheduling, and does not count.
//
// One thread at a time: the loop's.
#pragma once

#include <array>
#include <cstdint>
#include <uv.h>

namespace sotto::server {

// What a loop does in a turn. Names of the enumeration: LoopMonitor::NameOf().
enum class LoopWork { kAccept, kStrangers, kHandshake, kRequest, kTick, kRound, kGuest };
constexpr int kLoopWorks = 7;

class LoopMonitor {
 public:
  // Before the loop runs for the first time. Throws std::runtime_error.
  void Start(uv_loop_t* loop);
  // Ends the measurement, so that the loop can end.
  void Stop();

  double longest_turn_ms() const { return 1e-6 * static_cast<double>(longest_turn_ns_); }
  // The most that the loop's thread computed in one turn.
  double longest_cpu_ms() const { return 1e-6 * static_cast<double>(longest_cpu_ns_); }
  // All sleeps since Start(), with the one that this turn may be. It may fall by the last one's
  // error.
  uint64_t slept_ms() const { return (slept_ns_ + SleepOfTurn()) / 1'000'000; }
  double longest_work_ms(LoopWork work) const {
    return 1e-6 * static_cast<double>(longest_ns_[static_cast<size_t>(work)]);
  }
  static const char* NameOf(LoopWork work);

  // Measures one piece of work while it lives.
  class Piece {
   public:
    Piece(LoopMonitor& monitor, LoopWork work)
        : longest_ns_(monitor.longest_ns_[static_cast<size_t>(work)]), begin_ns_(uv_hrtime()) {}
    ~Piece();
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    uint64_t& longest_ns_;
    const uint64_t begin_ns_;
  };

  // While it lives the thread may wait by its own will, for example until somebody reads the log.
  // That is no sleep, since how much there is to write may depend on uploads.
  class Wait {
   public:
    explicit Wait(LoopMonitor& monitor) : waited_ns_(monitor.waited_ns_), begin_ns_(uv_hrtime()) {}
    ~Wait() { waited_ns_ += uv_hrtime() - begin_ns_; }
    Wait(const Wait&) = delete;
    Wait& operator=(const Wait&) = delete;

   private:
    uint64_t& waited_ns_;
    const uint64_t begin_ns_;
  };

 private:
  static constexpr uint64_t kShare = 8;  // the loop, the pool's four threads, and some to spare
  static constexpr uint64_t kShortestSleepNs = 500'000'000;

  void OnTurn();
  void OnWake();
  uint64_t SleepOfTurn() const;
  uint64_t ExplainedNs() const;

  uv_prepare_t prepare_{};
  uv_check_t check_{};
  uint64_t slept_ns_ = 0;
  uint64_t waited_ns_ = 0;          // in all Waits
  uint64_t wait_ns_ = 0;            // for which the loop wants to wait, at most
  uint64_t woke_ns_ = 0;            // the beginning of this turn; 0: the loop waits
  uint64_t woke_explained_ns_ = 0;  // ExplainedNs() then
  uint64_t last_ns_ = 0;            // the end of the last turn
  uint64_t last_explained_ns_ = 0;  // ExplainedNs() then
  uint64_t last_idle_ns_ = 0;
  uint64_t longest_turn_ns_ = 0;
  uint64_t last_cpu_ns_ = 0;
  uint64_t longest_cpu_ns_ = 0;
  std::array<uint64_t, kLoopWorks> longest_ns_{};
};

}  // namespace sotto::server
