// A simulated training that is driven round by round, by who wants to look at each release. Part of
// sotto::server/audit.
//
// It is the training that Simulate() makes with the same configuration and key, byte for byte. One
// thread at a time; rounds start their own threads.
#pragma once

#include "round/job.h"
#include "sim/fleet.h"
#include "sim/simulation.h"
#include "sotto/data/dataset.h"

namespace sotto::server {

class ObservedTraining {
 public:
  // The configuration and the data outlive the training. Seed and resumption of the configuration
  // are not used.
  //   from  a state of a training with the same configuration, data and key; absent: the beginning
  // Throws as Fleet and Job do.
  ObservedTraining(const SimulationConfig& config, const Dataset& train, const Key& run_key,
                   const std::optional<JobState>& from = std::nullopt);

  // Makes the next release. Absent if there is none: see finish_reason() of the job. Throws
  // std::runtime_error if every training of a round fails.
  std::optional<RoundOutcome> NextRound();

  Fleet& fleet() { return fleet_; }
  const Fleet& fleet() const { return fleet_; }
  const Job& job() const { return job_; }

 private:
  const SimulationConfig& config_;
  Fleet fleet_;
  NoLog log_;
  Job job_;
};

}  // namespace sotto::server
