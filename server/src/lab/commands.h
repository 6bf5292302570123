// The commands of `sotto-lab`. Part of sotto::server/lab.
#pragma once

#include "sotto/options/command.h"

namespace sotto::server {

// The program: all commands.
posix::Command SottoLabProgram();

posix::Command ExperimentCommand();

posix::Command LabDataCommand();

// Its commands write their results and then throw std::runtime_error if they found a violation.
posix::Command AuditCommand();

posix::Command PeersAuditCommand();

posix::Command PublishedCommand();

posix::Command SwarmCommand();

posix::Command CertificateCommand();

posix::Command InspectEntropyCommand();

posix::Command InspectOptionsCommand();

}  // namespace sotto::server
