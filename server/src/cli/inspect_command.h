// `sotto inspect`: examines the program's own parts, such as the dither and the encoder. Part of
// sotto::server/cli.
#ifndef SOTTO_CLI_INSPECT_COMMAND_H_
#define SOTTO_CLI_INSPECT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command and its subcommands. A subcommand runs when the arguments are parsed.
// `certificate` proves how close the dither is to the Gaussian. It throws std::runtime_error if the
// constants of sotto/certificate.h promise more than the proof.
void AddInspectCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_INSPECT_COMMAND_H_
