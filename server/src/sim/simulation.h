// A whole federated training in one process, or shared by several. Part of sotto::server/sim.
//
// Reentrant: calls of Simulate() may run at the same time.
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

  // A simulation over several processes: each process calls Simulate() with the same job, fleet and
  // seed, holds the whole job and runs the devices of its share. All results then have the same
  // bytes as in one process.
  FleetShare share;
  // Adds the parts of all other processes to this process's part of an attempt. Every process calls
  // it for every attempt, in the same order. Null: there are no other processes.
  std::function<void(PartialSum& part)> merge;
  // Asked before each round; true ends the simulation with the rounds that it has. Null: never.
  std::function<bool()> stop;
};

struct RoundReport {
  RoundOutcome outcome;
  double accuracy = 0.0;             // on the test set, after the round
  uint32_t failed_trainings = 0;     // of this process's devices, which reported zeros
  uint32_t saturated_trainings = 0;  // the same, in which numbers in fixed point saturated
};

struct SimulationResult {
  std::vector<RoundReport> rounds;  // released ones, in order
  double initial_accuracy = 0.0;    // before the first round
  std::vector<float> parameters;    // of the final model
  std::string finish_reason;
  bool gave_up = false;  // see Job::gave_up()
  bool stopped = false;  // by SimulationConfig::stop
  uint32_t devices_without_samples = 0;
  privacy::Statement spent;   // of the whole job, attempts that released nothing included
  double wall_seconds = 0.0;  // of set-up, rounds and evaluation

  // Mean size of a device's encoded update, bytes.
  double BytesUpPerDeviceRound() const;
};

// Runs the job to its end. on_round is called after every released round, from the calling thread.
// Throws std::invalid_argument for a bad configuration and
// std::runtime_error if every training of a round fails.
SimulationResult Simulate(const SimulationConfig& config, const TrainTest& data,
                          const std::function<void(const RoundReport&)>& on_round);

}  // namespace sotto::server

#endif  // SOTTO_SIM_SIMULATION_H_
