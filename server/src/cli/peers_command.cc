#include "cli/commands.h"

namespace sotto::server {

posix::Command PeersCommand() {
  return posix::CommandOf("peers", "nodes that train among themselves, without a server",
                          {PeersSimulateCommand(), DirectoryCommand(), PeersAccountCommand()});
}

}  // namespace sotto::server
