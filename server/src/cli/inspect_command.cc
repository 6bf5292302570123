#include <fmt/format.h>
#include <string>

#include "cli/commands.h"
#include "cli/rows.h"
#include "net/serve_request.h"
#include "sim/peer_request.h"
#include "sim/simulation_request.h"
#include "spec/job_spec.h"
#include "spec/options_table.h"

namespace sotto::server {
namespace {

// The first tables of server/OPTIONS.md; `sotto-lab inspect options` prints the others. A test
// compares the page.
std::string Tables() {
  return fmt::format(
      "The job: `sotto simulate` and `sotto serve`\n\n{}\n"
      "Fleet, data and output: `sotto simulate`\n\n{}\n"
      "Nodes without a server: `sotto peers simulate`\n\n{}\n"
      "Network, store and output: `sotto serve`\n\n{}",
      JobOptionsTable(JobFields()), OptionsTable(SimulationFields()), OptionsTable(PeersFields()),
      OptionsTable(ServeFields()));
}

}  // namespace

posix::Command InspectCommand() {
  posix::Command inspect = posix::CommandOf(
      "inspect", "print what pages quote",
      {TablesCommand("options", "the options of jobs, simulations and servers", Tables)});
  inspect.is_hidden = true;
  inspect.renamed = {{"store", "sotto status --verify"},
                     {"entropy", "sotto-lab inspect entropy"},
                     {"certificate", "sotto-lab inspect certificate"}};
  return inspect;
}

}  // namespace sotto::server
