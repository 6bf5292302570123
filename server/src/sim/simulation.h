// A whole federated training in one process, or shared by several. Part of sotto::server/sim.
//
// Reentrant: calls of Simulate() may run at the same time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "round/job.h"
#include "sim/fleet.h"
#include "sim/run_state.h"
#include "sotto/data/dataset.h"

namespace sotto::server {

struct SimulationConfig {
  JobConfig job;
  FleetOptions fleet;
  std::optional<uint64_t> seed;  // absent: the operating system's entropy
  int threads = 1;

  // The model is evaluated before the first round, after every round whose number divides by this
  // one, after the plan's last round, and at the end. 0: never.
  uint32_t evaluate_every = 1;

  // The rounds whose exact mean update the result keeps, from 0. Empty unless the codec is exact.
  std::set<uint32_t> update_rounds;

  // What else decides the result, as a JSON object: a resumed simulation must have the same.
  std::string fleet_text = "{}";
  // The files that it reads, and the program that runs it, for its RunState. A resumed simulation
  // must read the same content; none: nothing is compared.
  InputDigests inputs;
  std::string build;
  // Where an earlier simulation ended: this one goes on there. Absent: it begins.
  std::optional<RunState> resume;

  // A simulation over several processes: each process calls Simulate() with the same job, fleet and
  // seed, holds the whole job and runs the devices of its share. All results then have the same
  // bytes as in one process.
  FleetShare share;
  // Adds the parts of all other processes to this process's part of an attempt. Every process calls
  // it for every attempt, in the same order. Null: there are no other processes.
  std::function<void(PartialSum& part)> merge;
  // Called once, before the first round, if the simulation may begin. Null: no matter.
  std::function<void()> on_begin;
  // Asked before each round; true ends the simulation with the rounds that it has. Null: never.
  std::function<bool()> stop;
};

// The mean update of a round, from a sum without noise.
struct MeanUpdateOfRound {
  uint32_t round = 0;
  std::vector<float> values;  // [model.parameters]
};

struct SimulationResult {
  std::vector<RoundReport> rounds;  // released ones, in order; those before a resumption included
  // Before the first round, and after the last one, on the test set; absent if evaluate_every is 0.
  std::optional<Evaluation> initial;
  std::optional<Evaluation> last;
  std::vector<float> parameters;  // of the final model
  std::vector<float> average;     // of the models, if the job asks for it; else empty
  std::optional<Evaluation> average_evaluation;  // of that
  std::vector<MeanUpdateOfRound> updates;        // of SimulationConfig::update_rounds
  RunState state;                                // where a later simulation can go on
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
// A resumed simulation gives the same results as one that was never interrupted.
// Throws std::invalid_argument for a bad configuration, for data that does not fit the model, and
// if a resumed simulation began with another configuration: the message names the field. Throws
// std::runtime_error if every training of a round fails.
SimulationResult Simulate(const SimulationConfig& config, const TrainTest& data,
                          const std::function<void(const RoundReport&)>& on_round);

}  // namespace sotto::server
