// `sotto-lab inspect options`: prints the audits' tables for server/OPTIONS.md. Part of
// sotto::server/lab.
#ifndef SOTTO_LAB_INSPECT_OPTIONS_H_
#define SOTTO_LAB_INSPECT_OPTIONS_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command InspectOptionsCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_INSPECT_OPTIONS_H_
