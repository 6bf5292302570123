// What a swarm measures. Part of sotto::server/swarm.
//
// Figures is safe from any thread; the others belong to one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "sotto/messages.h"

namespace sotto::server {

constexpr double kSecondsPerNs = 1e-9;

// How long things took, from 10 us to an hour, in 8 kB.
class Latencies {
 public:
  void Add(double ms);
  // The time that this share of them did not exceed, at most 2 % too long; 0: there are none.
  double Percentile(double share) const;

 private:
  static constexpr size_t kBins = 1000;
  std::array<uint64_t, kBins> bins_{};
  uint64_t count_ = 0;
};

// What happened so far, of all devices.
struct SwarmCounts {
  uint64_t connected = 0;          // now
  uint64_t connected_max = 0;      // at a time
  uint64_t handshakes = 0;         // complete
  uint64_t failed_handshakes = 0;  // begun, and the link was lost
  uint64_t failed_connects = 0;
  uint64_t lost_links = 0;  // after the handshake, but for those that a device cut
  uint64_t tasks = 0;       // a device got a task
  uint64_t accepted = 0;    // updates
  uint64_t rejected = 0;    // updates that the server found invalid
  uint64_t late = 0;        // updates that their round did not wait for
  uint64_t dropped = 0;     // drop-outs
  uint64_t corrupted = 0;   // updates with a damaged byte
  uint64_t refused = 0;     // devices that the server, or the job, has no use for
  uint64_t told_done = 0;   // devices
  uint64_t bytes_in = 0;    // of TLS
  uint64_t bytes_out = 0;
  // Of participations whose update was accepted, from the Hello that got the task on: bytes of TLS,
  // and requests. Where a device connects for it, with its handshake.
  uint64_t bytes_up = 0;
  uint64_t bytes_down = 0;
  uint64_t turns = 0;

  double OfAnUpdate(uint64_t SwarmCounts::*sum) const {
    return accepted == 0 ? 0 : static_cast<double>(this->*sum) / static_cast<double>(accepted);
  }
};

// What one participation has cost so far.
struct Participation {
  uint64_t bytes_up = 0;
  uint64_t bytes_down = 0;
  uint64_t turns = 0;
};

struct SwarmSummary {
  SwarmCounts counts;
  uint64_t rounds = 0;      // with an accepted update
  double busy_seconds = 0;  // from the first task to the last accepted update
  double updates_s = 0;     // in that time
  // Updates a second of a round, from its first task to its last accepted update.
  double best_round_updates_s = 0;
  double median_round_updates_s = 0;
  double latency_ms_p50 = 0;  // from a task to the acknowledgement of its update
  double latency_ms_p95 = 0;
  double latency_ms_p99 = 0;
  double wall_seconds = 0;
  double cpu_seconds = 0;  // of this process
};

class Figures {
 public:
  // A task, by what names it within a job.
  using Task = std::pair<uint32_t, uint32_t>;  // round, attempt

  // Counts one of something: &SwarmCounts::handshakes.
  void Count(uint64_t SwarmCounts::*what);
  void OnConnected();
  void OnDisconnected();
  void OnTraffic(uint64_t in, uint64_t out);
  void OnTask(const Task& task, uint64_t now_ns);
  void OnAccepted(const Task& task, const Participation& cost, uint64_t began_ns, uint64_t now_ns);

  SwarmCounts Counts() const;
  uint64_t rounds() const;
  // Without wall_seconds and cpu_seconds.
  SwarmSummary Summarise() const;

 private:
  struct Attempt {
    uint64_t first_ns = 0;
    uint64_t last_ns = 0;
    uint64_t accepted = 0;
  };

  mutable std::mutex mutex_;  // guards the rest
  SwarmCounts counts_;
  std::map<Task, Attempt> attempts_;
  Latencies latencies_;
};

}  // namespace sotto::server
