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
#include "ranks/ranks.h"
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

  // The final model is evaluated on each device's held-out samples, if it has personal layers or
  // steps are to be made: see DeviceAccuracies. Without held-out samples, or without classes, it is
  // not.
  uint32_t fine_tune_steps = 0;

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

  // The processes that share the simulation. Each calls Simulate() with the same configuration,
  // holds the whole job, and runs its part of each cohort and of each evaluation. All results then
  // have the same bytes as in one process. Null: this process alone. Must outlive the call.
  Ranks* ranks = nullptr;
  // Called once, before the first round, if the simulation may begin. Null: no matter.
  std::function<void()> on_begin;
  // Asked before each round, and of several ranks before each device: true ends the simulation with
  // the rounds that it has. Null: never. From any thread.
  std::function<bool()> stop;
  // Called after a released round, once a second at most and for a twentieth of the time, with
  // where a later simulation can go on should this one not come to its end. Null: no matter.
  std::function<void(const RunState&)> save;
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
  std::optional<DeviceAccuracies> by_device;     // of the final model; absent: not asked for
  std::vector<MeanUpdateOfRound> updates;        // of SimulationConfig::update_rounds
  RunState state;                                // where a later simulation can go on
  std::string finish_reason;
  bool gave_up = false;  // see Job::gave_up()
  bool stopped = false;  // by SimulationConfig::stop, or because other ranks are gone
  uint32_t devices_without_samples = 0;
  privacy::Statement spent;   // of the whole job, attempts that released nothing included
  double wall_seconds = 0.0;  // of set-up, rounds and evaluation

  // Mean size of a device's encoded update, bytes.
  double BytesUpPerDeviceRound() const;
};

// Runs the job to its end. on_round is called after every released round, from the calling thread.
// A simulation whose other ranks are gone ends as one that is stopped: with the released rounds.
// A resumed simulation gives the same results as one that was never interrupted.
// Throws std::invalid_argument for a bad configuration, for data that does not fit the model, and
// if a resumed simulation began with another configuration: the message names the field. Throws
// std::runtime_error if every training of a round fails.
SimulationResult Simulate(const SimulationConfig& config, const TrainTest& data,
                          const std::function<void(const RoundReport&)>& on_round);

}  // namespace sotto::server
