#include "cli/simulate_options.h"

#include <CLI/CLI.hpp>

#include "cli/in_range.h"

namespace sotto::server {
namespace {

constexpr char kFleet[] = "Fleet and data";
constexpr char kRun[] = "Run and output";

void AddFleetOptions(CLI::App& command, SimulateOptions& o) {
  command
      .add_option("--data", o.data,
                  "fashion-mnist, synthetic, or a folder with the four IDX files of MNIST")
      ->capture_default_str()
      ->group(kFleet);
  command.add_option("--devices", o.devices, "devices in the fleet, N")
      ->capture_default_str()
      ->check(InRange(1U, 1000000U))
      ->group(kFleet);
  command.add_option("--samples-per-device", o.samples_per_device, "training samples on each")
      ->capture_default_str()
      ->check(InRange(1U, 1000000U))
      ->group(kFleet);
  command.add_option("--dropout", o.dropout, "chance that a drawn device does not report")
      ->capture_default_str()
      ->check(InRange(0.0, 0.999))
      ->group(kFleet);
}

void AddRunOptions(CLI::App& command, SimulateOptions& o) {
  command
      .add_option("--seed", o.seed,
                  "repeat a run bit for bit; everything derives from it, so it is not private")
      ->group(kRun);
  command.add_option("--json", o.json, "write the results to this file; - is standard output")
      ->group(kRun);
  command.add_option("--model-out", o.model_out, "write the final parameters, float32 LE")
      ->group(kRun);
}

}  // namespace

void AddSimulateOptions(CLI::App& command, SimulateOptions& options) {
  AddFleetOptions(command, options);
  AddJobOptions(command, options);
  AddRunOptions(command, options);
}

SimulationConfig MakeSimulation(const SimulateOptions& o) {
  SimulationConfig config;
  config.job = MakeJob(o, o.devices);
  config.job.seeded = o.seed.has_value();
  config.fleet = {o.devices, o.samples_per_device, o.dropout, o.seed.has_value()};
  config.seed = o.seed;
  config.threads = config.job.threads;
  return config;
}

}  // namespace sotto::server
