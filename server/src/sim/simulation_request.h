// The request for a simulation, before defaults and noise are resolved. Part of sotto::server/sim.
//
// A plain value and pure functions: safe from any thread.
#ifndef SOTTO_SIM_SIMULATION_REQUEST_H_
#define SOTTO_SIM_SIMULATION_REQUEST_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/simulation.h"
#include "spec/field.h"
#include "spec/job_request.h"

namespace sotto::server {

// A job and the fleet that is simulated for it.
struct SimulationRequest : JobRequest {
  std::string data = "fashion-mnist";
  std::optional<std::string> classes;  // of data, see OnlyClasses(); absent: all
  FleetOptions fleet;
  std::optional<double> held_out;  // absent: a fifth if devices evaluate, else nothing
  std::optional<uint64_t> seed;
  std::string json;       // file for the results; empty: none, "-": standard output
  std::string model_out;  // file for the final parameters; empty: none
};

// The options of `sotto simulate` besides the job's own options.
const std::vector<Field<SimulationRequest>>& SimulationFields();

// The simulation of a request, with the noise calibrated. Throws as MakeJob() does.
SimulationConfig MakeSimulation(const SimulationRequest& request);

}  // namespace sotto::server

#endif  // SOTTO_SIM_SIMULATION_REQUEST_H_
