// `sotto model`: the named models, and what a model is and costs. Part of sotto::server/cli.
#ifndef SOTTO_CLI_MODEL_COMMAND_H_
#define SOTTO_CLI_MODEL_COMMAND_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command ModelCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_MODEL_COMMAND_H_
