// `sotto data stats` and `sotto data pca`: what a model file needs of a data set. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_DATA_FIT_H_
#define SOTTO_CLI_DATA_FIT_H_

#include "sotto/options/command.h"

namespace sotto::server {

posix::Command DataStatsCommand();
posix::Command DataPcaCommand();

}  // namespace sotto::server

#endif  // SOTTO_CLI_DATA_FIT_H_
