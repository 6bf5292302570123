// Makes command-line options from a table of fields (spec/field.h). Part of sotto::server/cli.
#ifndef SOTTO_CLI_JOB_OPTIONS_H_
#define SOTTO_CLI_JOB_OPTIONS_H_

#include "audit/audit_request.h"
#include "net/serve_request.h"
#include "sim/simulation_request.h"

namespace CLI {
class App;
}

namespace sotto::server {

// Declares a job's options and the options of the network, the store and the output. The request
// must outlive the parse.
void AddServeOptions(CLI::App& command, ServeRequest& request);

// Declares a job's options and the options of the fleet, the data and the output. The request must
// outlive the parse.
void AddSimulateOptions(CLI::App& command, SimulationRequest& request);

// Declare the options of an audit: its own, and those of a job or a simulation that it takes. The
// request must outlive the parse.
void AddEpsilonAuditOptions(CLI::App& command, EpsilonAuditRequest& request);
void AddMembershipOptions(CLI::App& command, MembershipRequest& request);
void AddSensitivityOptions(CLI::App& command, SensitivityRequest& request);

}  // namespace sotto::server

#endif  // SOTTO_CLI_JOB_OPTIONS_H_
