// `sotto experiment`. Part of sotto::server/lab.
#ifndef SOTTO_LAB_EXPERIMENT_COMMAND_H_
#define SOTTO_LAB_EXPERIMENT_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command ExperimentCommand();

}  // namespace sotto::server

#endif  // SOTTO_LAB_EXPERIMENT_COMMAND_H_
