// What the environment says of a launcher of MPI. Part of sotto::server/ranks.
//
// Reads the environment: not while another thread changes it.
#pragma once

#include <string>
#include <vector>

namespace sotto::server {

// True if mpirun or srun started this process as one of several, or might have: some launchers do
// not say how many there are.
bool IsLaunched();

// How many processes mpirun says that it started; 0: it does not say.
unsigned LaunchedCount();

// False if the command line names a command that is not among these. Without any command: true.
bool IsOneOf(int argc, char** argv, const std::vector<std::string>& commands);

// Says on standard error why the launcher is of no use, and exits with status 2.
[[noreturn]] void RefuseLauncher(const char* program, const std::string& why);

}  // namespace sotto::server
