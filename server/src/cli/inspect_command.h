// `sotto inspect`: looks into what the programs work with. Part of sotto::server/cli.
#ifndef SOTTO_CLI_INSPECT_COMMAND_H_
#define SOTTO_CLI_INSPECT_COMMAND_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Declares the command and its own command certificate, which runs when the arguments are parsed:
// it proves how close the dither is to the Gaussian and throws std::runtime_error if the constants
// of sotto/certificate.h promise more.
void AddInspectCommand(CLI::App& app);

}  // namespace sotto::server

#endif  // SOTTO_CLI_INSPECT_COMMAND_H_
