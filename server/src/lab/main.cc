// The command `sotto-lab`. Part of sotto::server/lab.
#include <CLI/CLI.hpp>

#include "cli/program.h"
#include "lab/audit_command.h"
#include "lab/certificate_command.h"
#include "lab/experiment_command.h"
#include "lab/inspect_entropy.h"
#include "lab/published_command.h"
#include "lab/swarm_command.h"
#include "sotto/options/attach.h"

namespace {

void AddCommands(CLI::App& app) {
  sotto::server::AddExperimentCommand(app);
  sotto::posix::Attach(app, sotto::server::AuditCommand());
  sotto::server::AddSwarmCommand(app);
  sotto::posix::Attach(app, sotto::server::PublishedCommand());
  CLI::App& inspect = *app.add_subcommand("inspect", "look into what the noise is made of");
  inspect.require_subcommand(1);
  sotto::server::AddCertificateCommand(inspect);
  sotto::server::AddInspectEntropyCommand(inspect);
}

}  // namespace

int main(int argc, char** argv) {
  return sotto::server::RunProgram(
      {"sotto-lab", "Research with Sotto: the papers' experiments, audits, proofs, load tests.",
       AddCommands},
      argc, argv);
}
