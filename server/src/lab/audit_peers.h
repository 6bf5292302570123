// `sotto-lab audit peers`. Part of sotto::server/lab.
#ifndef SOTTO_LAB_AUDIT_PEERS_H_
#define SOTTO_LAB_AUDIT_PEERS_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command PeersAuditCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_AUDIT_PEERS_H_
