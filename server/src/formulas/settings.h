// Options as texts: the settings of a run, and the simulation that they ask for. What a run gave.
// Part of sotto::server/formulas.
//
// Pure functions: safe from any thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/peer_request.h"
#include "sim/simulation_request.h"

namespace sotto::server {

// Values by the names of options, without dashes.
using Settings = std::map<std::string, std::string>;

// True if `sotto simulate`, or `sotto peers simulate`, has an option of this name.
bool IsSimulationOption(const std::string& name);
bool IsPeersOption(const std::string& name);

// The request of `sotto simulate` with these options. Numbers, choices and conflicts are as strict
// as there. Throws std::invalid_argument, naming the option.
SimulationRequest RequestOf(const Settings& settings);

// The same of `sotto peers simulate`.
PeersRequest PeersRequestOf(const Settings& settings);

// The arguments as a shell takes them: " --data fashion-mnist --seed 1".
std::string ArgumentsOf(const Settings& settings);

// What one run gave.
struct Outcome {
  std::map<std::string, double> figures;              // finite ones
  std::map<std::string, std::vector<double>> series;  // "round", "accuracy"; NaN: not finite
  std::string note;         // what to know about it: training diverged; may be empty
  bool is_refused = false;  // there is no such run: the note says why
  // The time that it took of one core. Absent for a run of a program that did not measure it.
  std::optional<double> core_seconds = {};
};

}  // namespace sotto::server
