// The command `sotto-lab`. Part of sotto::server/lab.
#include <CLI/CLI.hpp>

#include "cli/program.h"
#include "lab/audit_command.h"
#include "lab/certificate_command.h"
#include "lab/experiment_command.h"
#include "lab/inspect_entropy.h"
#include "lab/published_command.h"
#include "lab/swarm_command.h"
#include "sotto/data/mat_files.h"

namespace {

void AddCommands(CLI::App& app) {
  sotto::server::AddExperimentCommand(app);
  sotto::server::AddAuditCommand(app);
  sotto::server::AddSwarmCommand(app);
  sotto::server::AddPublishedCommand(app);
  CLI::App& inspect = *app.add_subcommand("inspect", "look into what the noise is made of");
  inspect.require_subcommand(1);
  sotto::server::AddCertificateCommand(inspect);
  sotto::server::AddInspectEntropyCommand(inspect);
}

}  // namespace

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  return sotto::server::RunProgram(
      {"sotto-lab", "Research with Sotto: the papers' experiments, audits, proofs, load tests.",
       AddCommands},
      argc, argv);
}
