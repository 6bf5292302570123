#include "lab/commands.h"

namespace sotto::server {

posix::Command SottoLabProgram() {
  posix::Command inspect;
  inspect.name = "inspect";
  inspect.help = "look into what the noise is made of";
  inspect.commands = {CertificateCommand(), InspectEntropyCommand(), InspectOptionsCommand()};

  posix::Command lab;
  lab.name = "sotto-lab";
  lab.help = "Research with Sotto: the papers' experiments, audits, proofs, load tests.";
  lab.commands = {ExperimentCommand(), AuditCommand(), PublishedCommand(), SwarmCommand(), inspect};
  return lab;
}

}  // namespace sotto::server
