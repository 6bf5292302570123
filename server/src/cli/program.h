// A program of commands: what `sotto` and `sotto-lab` share. Part of sotto::server/cli.
#ifndef SOTTO_CLI_PROGRAM_H_
#define SOTTO_CLI_PROGRAM_H_

#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace sotto::server {

struct Program {
  std::string name;
  std::string description;
  std::function<void(CLI::App&)> add_commands;
};

// Reads the command line, runs the command that it names, and writes why it failed to standard
// error. Returns the exit status: 0 success, 1 failure, 2 wrong usage, 3 the job gave up, 4 the
// store is an older copy, 128 + n stopped by signal n.
int RunProgram(const Program& program, int argc, char** argv);

}  // namespace sotto::server

#endif  // SOTTO_CLI_PROGRAM_H_
