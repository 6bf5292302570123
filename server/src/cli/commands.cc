#include "cli/commands.h"

namespace sotto::server {

posix::Command PeersCommand() {
  return posix::CommandOf("peers", "simulate, serve and account nodes that train without a server",
                          {PeersSimulateCommand(), DirectoryCommand(), PeersAccountCommand()});
}

posix::Command SottoProgram() {
  posix::Command sotto = posix::CommandOf(
      "sotto", "Private federated learning that fits on a microcontroller.",
      {SimulateCommand(), KeysCommand(), ServeCommand(), StatusCommand(), JobCommand(),
       StoreCommand(), ReportCommand(), ModelCommand(), DataCommand(), PeersCommand(),
       AccountCommand(), TrafficCommand(), InspectCommand()});
  sotto.renamed = {{"audit", "sotto-lab audit"},
                   {"backup", "sotto store backup"},
                   {"directory", "sotto peers directory"},
                   {"experiment", "sotto-lab experiment"},
                   {"pause", "sotto job pause"},
                   {"resume", "sotto job resume"},
                   {"swarm", "sotto-lab swarm"}};
  return sotto;
}

}  // namespace sotto::server
