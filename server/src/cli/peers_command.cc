#include "cli/peers_command.h"

#include "cli/directory_command.h"
#include "cli/peers_account.h"
#include "cli/peers_simulate.h"

namespace sotto::server {

posix::Command PeersCommand() {
  posix::Command peers;
  peers.name = "peers";
  peers.help = "nodes that train among themselves, without a server";
  peers.commands = {PeersSimulateCommand(), DirectoryCommand(), PeersAccountCommand()};
  return peers;
}

}  // namespace sotto::server
