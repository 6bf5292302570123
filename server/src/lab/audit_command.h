// `sotto-lab audit`: what can be measured of a job's privacy. Part of sotto::server/lab.
#ifndef SOTTO_LAB_AUDIT_COMMAND_H_
#define SOTTO_LAB_AUDIT_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

// Its commands write their results and then throw std::runtime_error if they found a violation.
posix::Command AuditCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_AUDIT_COMMAND_H_
