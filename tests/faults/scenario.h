// What one seed simulates: a job, its fleet, and how often each fault happens.
#pragma once

#include <cstdint>
#include <string>

#include "round/job_config.h"

namespace sotto::server {

class World;

// Rules that a simulation breaks on purpose, to show that it would be noticed.
enum class Broken {
  kNone,
  kEpoch,     // a server commits whatever epoch the store is in
  kRetry,     // a commit whose answer was lost is made once more
  kAttempt,   // a server that starts uses the number of the last attempt again
  kSeal,      // a seal is not written
  kReceipts,  // nobody looks at the receipts that devices show
};

// Chances of one call to the database.
struct CallFaults {
  double lost = 0;    // the connection breaks
  double killed = 0;  // the process is killed
  double slow = 0;    // the answer takes seconds
  double frozen = 0;  // the process is stopped for seconds, and then goes on
};

struct Scenario {
  // Of the job.
  bool of_passes = true;
  bool has_private_noise = false;
  bool closes_early = false;
  int64_t participations = 2;
  int64_t rounds = 4;
  int64_t jobs = 1;        // one after the other
  int64_t life_turns = 0;  // that the store's life epsilon allows a device; 0: there is none
  uint32_t quorum = 0;
  uint32_t kept_models = 0;  // 0: all
  uint64_t round_ms = 8000;

  // Of the database.
  CallFaults statement;
  CallFaults begin;
  CallFaults commit;        // before it is sent
  CallFaults answer;        // to a commit: it has happened
  uint64_t restart_ms = 0;  // mean time between restarts; 0: none
  uint64_t cut_ms = 0;      // between a server and the database
  bool has_promotion = false;
  uint32_t lost_commits = 0;  // by the promotion
  bool recovers = false;      // after it, once a server has found it

  // Of other programs that use the store, such as `sotto job`: mean times between.
  uint64_t write_ms = 0;
  uint64_t pause_ms = 0;  // of the jobs, for a while
  uint64_t look_ms = 0;   // at everything

  // Of servers and of the network.
  uint64_t kill_ms = 0;
  uint64_t stop_ms = 0;  // SIGSTOP
  double message_lost = 0;
  double message_twice = 0;
  double message_late = 0;
  uint64_t partition_ms = 0;  // between a device and a server
  double drop_out = 0;        // of a task
  double reset = 0;           // of a device, at a message

  uint64_t faults_ms = 120'000;  // until then
};

Scenario DrawScenario(World& world);
std::string Describe(const Scenario& scenario);

// Of the job with which it begins; the number of devices is set later.
JobConfig ConfigOf(const Scenario& scenario);

}  // namespace sotto::server
