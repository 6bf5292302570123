// The command `sotto`. Part of sotto::server/cli.
#include <CLI/CLI.hpp>

#include "cli/account_command.h"
#include "cli/data_command.h"
#include "cli/directory_command.h"
#include "cli/inspect_command.h"
#include "cli/keys_command.h"
#include "cli/model_command.h"
#include "cli/peers_account.h"
#include "cli/program.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/simulate_command.h"
#include "cli/store_commands.h"
#include "sotto/options/attach.h"

int main(int argc, char** argv) {
  const auto add_commands = [](CLI::App& app) {
    sotto::posix::Attach(app, sotto::server::SimulateCommand());
    sotto::posix::Attach(app, sotto::server::ServeCommand());
    sotto::server::AddDirectoryCommand(app);
    CLI::App& peers = *app.add_subcommand("peers", "nodes that train without a server");
    peers.require_subcommand(1);
    sotto::server::AddPeersAccountCommand(peers);
    sotto::server::AddKeysCommand(app);
    sotto::server::AddStoreCommands(app);
    sotto::server::AddReportCommand(app);
    sotto::posix::Attach(app, sotto::server::AccountCommand());
    sotto::server::AddDataCommand(app);
    sotto::server::AddModelCommand(app);
    sotto::server::AddInspectCommand(app);
  };
  return sotto::server::RunProgram(
      {"sotto", "Private federated learning that fits on a microcontroller.", add_commands}, argc,
      argv);
}
