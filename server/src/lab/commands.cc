#include "lab/commands.h"

namespace sotto::server {

posix::Command SottoLabProgram() {
  posix::Command inspect =
      posix::CommandOf("inspect", "print the noise's certificate, the size of updates, the options",
                       {CertificateCommand(), InspectEntropyCommand(), InspectOptionsCommand()});

  return posix::CommandOf(
      "sotto-lab", "Research with Sotto: the papers' experiments, audits, proofs, load tests.",
      {ExperimentCommand(), LabDataCommand(), AuditCommand(), PublishedCommand(), SwarmCommand(),
       inspect});
}

}  // namespace sotto::server
