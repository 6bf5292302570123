// The options of `sotto simulate` and the simulation they ask for. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SIMULATE_OPTIONS_H_
#define SOTTO_CLI_SIMULATE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "cli/job_options.h"
#include "sim/simulation.h"

namespace CLI {
class App;
}

namespace sotto::server {

// A job and the fleet that is simulated for it.
struct SimulateOptions : JobOptions {
  std::string data = "fashion-mnist";
  uint32_t devices = 1000;
  uint32_t samples_per_device = 50;
  double dropout = 0.0;

  std::optional<uint64_t> seed;
  std::string json;
  std::string model_out;
};

// Declares the options on a command; `options` must outlive the parse.
void AddSimulateOptions(CLI::App& command, SimulateOptions& options);

// The simulation that the options ask for, with the noise calibrated.
// Throws std::invalid_argument or privacy::UnattainableEpsilon, saying what to change.
SimulationConfig MakeSimulation(const SimulateOptions& options);

}  // namespace sotto::server

#endif  // SOTTO_CLI_SIMULATE_OPTIONS_H_
