// The command `sotto`. Part of sotto::server/cli.
#include "cli/account_command.h"
#include "cli/data_command.h"
#include "cli/inspect_command.h"
#include "cli/keys_command.h"
#include "cli/model_command.h"
#include "cli/peers_command.h"
#include "cli/program.h"
#include "cli/report_command.h"
#include "cli/serve_command.h"
#include "cli/simulate_command.h"
#include "cli/store_commands.h"
#include "sotto/data/mat_files.h"

int main(int argc, char** argv) {
  sotto::AddMatFiles();
  using namespace sotto::server;
  sotto::posix::Command sotto;
  sotto.name = "sotto";
  sotto.help = "Private federated learning that fits on a microcontroller.";
  sotto.commands = {SimulateCommand(), KeysCommand(),  ServeCommand(),   StatusCommand(),
                    JobCommand(),      StoreCommand(), ReportCommand(),  ModelCommand(),
                    DataCommand(),     PeersCommand(), AccountCommand(), InspectCommand()};
  sotto.renamed = {{"audit", "sotto-lab audit"},
                   {"backup", "sotto store backup"},
                   {"directory", "sotto peers directory"},
                   {"experiment", "sotto-lab experiment"},
                   {"pause", "sotto job pause"},
                   {"resume", "sotto job resume"},
                   {"swarm", "sotto-lab swarm"}};
  return RunProgram(sotto, argc, argv);
}
