// The command `sotto-lab`. Part of sotto::server/lab.
#include "cli/program.h"
#include "lab/audit_command.h"
#include "lab/certificate_command.h"
#include "lab/experiment_command.h"
#include "lab/inspect_entropy.h"
#include "lab/inspect_options.h"
#include "lab/published_command.h"
#include "lab/swarm_command.h"
#include "sotto/data/mat_files.h"

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  using namespace sotto::server;
  sotto::posix::Command inspect;
  inspect.name = "inspect";
  inspect.help = "look into what the noise is made of";
  inspect.commands = {CertificateCommand(), InspectEntropyCommand(), InspectOptionsCommand()};

  sotto::posix::Command lab;
  lab.name = "sotto-lab";
  lab.help = "Research with Sotto: the papers' experiments, audits, proofs, load tests.";
  lab.commands = {ExperimentCommand(), AuditCommand(), PublishedCommand(), SwarmCommand(), inspect};
  return RunProgram(lab, argc, argv);
}
