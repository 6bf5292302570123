// The options of `sotto simulate` and the simulation they ask for. Part of sotto::server/cli.
#ifndef SOTTO_CLI_SIMULATE_OPTIONS_H_
#define SOTTO_CLI_SIMULATE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "sim/simulation.h"

namespace CLI {
class App;
}

namespace sotto::server {

// As the user typed them; defaults are those of DP-Fed-LS's logistic regression, on Fashion-MNIST.
struct SimulateOptions {
  std::string data = "fashion-mnist";
  std::string model = "softmax-784-10";
  uint32_t devices = 1000;
  uint32_t samples_per_device = 50;
  double dropout = 0.0;

  std::string sampling = "uniform";
  uint32_t cohort = 50;
  uint32_t rounds = 30;
  uint32_t min_reports = 1;

  uint32_t local_epochs = 5;
  uint32_t batch_size = 10;
  double learning_rate = 0.1;
  double learning_rate_decay = 0.99;
  double weight_decay = 0.0;
  double clip = 0.4;
  std::string clipping = "every-step";
  double server_learning_rate = 1.0;
  double smoothing = 0.0;

  std::string mechanism = "gau-lrq";
  double epsilon = 6.0;
  std::optional<double> noise_multiplier;
  std::optional<double> delta;  // absent: devices^-1.1
  uint32_t colluders = 1;

  std::optional<uint64_t> seed;
  int threads = 0;  // 0: one a processor
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
