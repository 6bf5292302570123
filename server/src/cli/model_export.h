// `sotto model export`, `sotto model predict` and `sotto model evaluate`. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_MODEL_EXPORT_H_
#define SOTTO_CLI_MODEL_EXPORT_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command ModelExportCommand();
posix::Command ModelPredictCommand();
posix::Command ModelEvaluateCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_MODEL_EXPORT_H_
