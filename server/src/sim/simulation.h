// A whole federated training in one process. Part of sotto::server/sim.
#ifndef SOTTO_SIM_SIMULATION_H_
#define SOTTO_SIM_SIMULATION_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "round/job.h"
#include "sim/fleet.h"
#include "sotto/data/dataset.h"

namespace sotto::server {

struct SimulationConfig {
  JobConfig job;
  FleetOptions fleet;
  std::optional<uint64_t> seed;  // absent: the operating system's entropy
  int threads = 1;

  // A simulation over several processes: each calls Simulate() with the same job, fleet and seed,
  // holds the whole job and runs the devices of its share. All results are then the same bytes as
  // of one process.
  FleetShare share;
  // Adds to this process's part of an attempt the parts of all others; called by every process for
  // every attempt, in the same order. Null: there are no others.
  std::function<void(PartialSum& part)> merge;
};

struct RoundReport {
  RoundOutcome outcome;
  double accuracy = 0.0;  // on the test set, after the round
};

struct SimulationResult {
  std::vector<RoundReport> rounds;  // released ones, in order
  double initial_accuracy = 0.0;    // before the first round
  std::vector<float> parameters;    // of the final model
  std::string finish_reason;
  bool gave_up = false;       // see Job::gave_up()
  double wall_seconds = 0.0;  // of set-up, rounds and evaluation

  // Mean bytes of a device's encoded update.
  double BytesUpPerDeviceRound() const;
};

// Runs the job to its end. on_round is called after every released round, from the calling thread.
// The starting model is all zeros. Throws std::invalid_argument for a bad configuration and
// std::runtime_error if training fails.
SimulationResult Simulate(const SimulationConfig& config, const TrainTest& data,
                          const std::function<void(const RoundReport&)>& on_round);

}  // namespace sotto::server

#endif  // SOTTO_SIM_SIMULATION_H_
