#include "cli/simulate_command.h"

#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "cli/gave_up.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "data/catalog.h"
#include "sotto/bytes.h"
#include "sotto/posix/terminal.h"

namespace sotto::server {
namespace {

constexpr char kStandardOutput[] = "-";

// Opens an output file before hours of work, not after.
std::ofstream OpenOutput(const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) {
    throw std::runtime_error(
        fmt::format("cannot write {}: check that its folder exists and is writable", path));
  }
  return file;
}

void Finish(std::ofstream& file, const std::string& path) {
  file.close();
  if (!file) throw std::runtime_error(fmt::format("writing {} failed: is the disk full?", path));
}

void WriteModel(const std::vector<float>& parameters, std::ofstream& file) {
  for (const float value : parameters) {
    uint8_t bytes[4];
    StoreU32Le(FloatBits(value), bytes);
    file.write(reinterpret_cast<const char*>(bytes), sizeof(bytes));
  }
}

void Announce(const SimulationConfig& config, const SimulateOptions& options) {
  if (config.job.is_private()) return;
  if (config.job.is_baseline()) {
    fmt::print(stderr, "--mechanism {} is a baseline to compare with; it protects no real data\n",
               options.mechanism);
    return;
  }
  fmt::print(stderr, "NO PRIVACY: {} protects nothing; for experiments only\n",
             options.mechanism == "none" ? "--mechanism none" : "--epsilon inf");
}

}  // namespace

void RunSimulate(const SimulateOptions& options) {
  const SimulationConfig config = MakeSimulation(options);
  const TrainTest data = OpenDataset(options.data);
  std::ofstream json_file;
  std::ofstream model_file;
  const bool json_to_stdout = options.json == kStandardOutput;
  if (!options.json.empty() && !json_to_stdout) json_file = OpenOutput(options.json);
  if (!options.model_out.empty()) model_file = OpenOutput(options.model_out);

  Announce(config, options);
  const Progress progress(static_cast<size_t>(config.job.plan.rounds),
                          posix::StandardErrorIsTerminal());
  const SimulationResult result = Simulate(config, data, [&](const RoundReport& report) {
    progress.Show(report.outcome.round + 1, DescribeRound(config, report));
  });

  fmt::print(json_to_stdout ? stderr : stdout, "{}",
             DescribeResult(config, result, data.train.name));
  if (!options.json.empty()) {
    std::ostream& out = json_to_stdout ? std::cout : json_file;
    out << ResultToJson(config, result, data.train.name).dump(2) << '\n' << std::flush;
    if (!out) throw std::runtime_error("writing the JSON failed: is the disk full?");
  }
  if (json_file.is_open()) Finish(json_file, options.json);
  if (model_file.is_open()) {
    WriteModel(result.parameters, model_file);
    Finish(model_file, options.model_out);
  }
  if (result.gave_up) throw GaveUp(result.finish_reason);
}

}  // namespace sotto::server
