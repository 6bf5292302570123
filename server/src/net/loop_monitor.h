// How long an event loop is busy. Part of sotto::server/net.
//
// A turn of the loop begins when it stops to wait for events, and ends when it waits again. Its
// length is the time in which nobody else is served: a stall. The times are those of the clock on
// the wall, so they include what the operating system gives to other programs; longest_cpu_ms()
// does not.
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

 private:
  void OnTurn();

  uv_prepare_t prepare_{};
  uint64_t last_ns_ = 0;  // the end of the last turn
  uint64_t last_idle_ns_ = 0;
  uint64_t longest_turn_ns_ = 0;
  uint64_t last_cpu_ns_ = 0;
  uint64_t longest_cpu_ns_ = 0;
  std::array<uint64_t, kLoopWorks> longest_ns_{};
};

}  // namespace sotto::server
