#include "cli/commands.h"

namespace sotto::server {

posix::Command PeersCommand() {
  posix::Command peers;
  peers.name = "peers";
  peers.help = "nodes that train among themselves, without a server";
  peers.commands = {PeersSimulateCommand(), DirectoryCommand(), PeersAccountCommand()};
  return peers;
}

}  // namespace sotto::server
