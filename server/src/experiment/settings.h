// Options as texts: the settings of a run, and the simulation that they ask for. Part of
// sotto::server/experiment.
//
// Pure functions: safe from any thread.
#pragma once

#include <map>
#include <string>

#include "sim/peer_fields.h"
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

}  // namespace sotto::server
