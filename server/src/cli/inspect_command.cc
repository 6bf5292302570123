#include "cli/inspect_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "audit/audit_request.h"
#include "cli/inspect_store.h"
#include "net/serve_request.h"
#include "sim/simulation_request.h"
#include "spec/job_spec.h"
#include "spec/options_table.h"

namespace sotto::server {
namespace {

// Prints the tables of server/OPTIONS.md. A test compares the page with this output.
void PrintOptions() {
  fmt::print("The job: `sotto simulate` and `sotto serve`\n\n{}\n", JobOptionsTable(JobFields()));
  fmt::print("Fleet, data and output: `sotto simulate`\n\n{}\n", OptionsTable(SimulationFields()));
  fmt::print("Network, store and output: `sotto serve`\n\n{}\n", OptionsTable(ServeFields()));
  fmt::print("Audits: `sotto-lab audit epsilon`\n\n{}\n", OptionsTable(EpsilonAuditFields()));
  fmt::print("Audits: `sotto-lab audit membership`\n\n{}\n", OptionsTable(MembershipFields()));
  fmt::print("Audits: `sotto-lab audit sensitivity`\n\n{}", OptionsTable(SensitivityFields()));
}

}  // namespace

void AddInspectCommand(CLI::App& app) {
  CLI::App& inspect = *app.add_subcommand("inspect", "look into what the programs work with");
  inspect.require_subcommand(1);
  AddInspectStoreCommand(inspect);
  inspect
      .add_subcommand("options",
                      "print the options of jobs, simulations and servers as Markdown tables, for "
                      "documentation")
      ->callback(PrintOptions);
}

}  // namespace sotto::server
