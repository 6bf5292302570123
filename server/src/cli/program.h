// How `sotto` and `sotto-lab` run. Part of sotto::server/cli.
#pragma once

#include "sotto/options/command.h"

namespace sotto::server {

// Reads the command line, runs the command that it names, and writes why it failed to standard
// error. Returns the exit status: 0 success, 1 failure, 2 wrong usage, 3 the job gave up, 4 the
// store is an older copy, 128 + n stopped by signal n.
int RunProgram(posix::Command program, int argc, char** argv);

}  // namespace sotto::server
