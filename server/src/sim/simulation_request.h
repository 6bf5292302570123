// The request for a simulation, before defaults and noise are resolved. Part of sotto::server/sim.
//
// A plain value and reentrant functions: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/catalog.h"
#include "ranks/ranks.h"
#include "sim/simulation.h"
#include "sotto/data/dataset.h"
#include "spec/inputs.h"
#include "spec/job_field.h"
#include "spec/job_request.h"

namespace sotto::server {

// A job and the fleet that is simulated for it.
struct SimulationRequest : JobRequest {
  std::string data = "fashion-mnist";
  std::optional<std::string> test;  // see OpenTrainTest(); absent: the data set's own, or a share
  std::optional<std::string> classes;  // of data, see OnlyClasses(); absent: all
  FleetOptions fleet;
  // Public data from which --noise-decay is found before the first round: noise_decay.h.
  std::optional<std::string> noise_decay_from;
  std::optional<double> held_out;  // absent: a fifth if devices evaluate, else nothing
  uint32_t fine_tune_steps = 0;    // SimulationConfig::fine_tune_steps
  std::optional<uint64_t> seed;
  std::optional<std::string> seeds;  // instead of seed: one simulation for each, see ParseSeeds()
  uint32_t evaluate_every = 1;       // rounds
  std::string json;                  // file for the results; empty: none, "-": standard output
  std::string model_out;             // file for the final parameters; empty: none
  std::string average_out;           // file for the average of the models; empty: none
  std::string spectrum;              // file for the spectra of updates; empty: none
  std::string spectrum_rounds = "1,50,100,200";  // see ParseSeeds()
  std::string rounds_csv;                        // file with a row a round; empty: none
  std::string state_out;  // file with which --resume goes on; empty: the one of resume, or none
  std::string resume;     // file where an earlier simulation ended; empty: this one begins
};

// The seeds of a text such as "1-5" or "1,4,7-9", in its order. Throws std::invalid_argument for
// another text, for a seed that is there twice, and for more than kMaxSeeds.
std::vector<uint64_t> ParseSeeds(const std::string& text);
constexpr size_t kMaxSeeds = 10000;

// The options of `sotto simulate` besides the job's own options.
const std::vector<Field<SimulationRequest>>& SimulationFields();

// The files that a simulation reads.
std::vector<NamedInput> InputsOf(const SimulationRequest& request);

// What decides the result of a simulation besides its job, as a JSON object: the options of the
// fleet and the data, and the seed.
std::string FleetText(const SimulationRequest& request);

// Without --data: fashion-mnist, or synthetic if its files are missing, on every rank if on one.
// Returns the warning that the made-up samples stand in; else an empty text. Throws RanksLost.
std::string ChooseData(Ranks& ranks, SimulationRequest* request,
                       const std::string& fashion_mnist_folder = kFashionMnistFolder);

// The simulation of a request, with the noise calibrated.
//   request  without noise_decay_from, which WithNoiseDecay() (noise_decay.h) resolves
// Throws as MakeJob() does.
SimulationConfig MakeSimulation(const SimulationRequest& request);

// The request with its fleet: without --devices, a partition by groups has a device for each group
// of the data, which are opened for it. Throws std::invalid_argument if an option of the fleet has
// no effect, and as OpenDataOf() does.
SimulationRequest WithFleet(const SimulationRequest& request);

// The samples that a request names: its data, test set and classes. Throws as OpenForFleet() and
// OnlyClasses() do.
TrainTest OpenDataOf(const SimulationRequest& request);

}  // namespace sotto::server
