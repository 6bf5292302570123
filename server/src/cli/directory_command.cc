#include <vector>

#include "cli/commands.h"
#include "cli/rows.h"
#include "service/directory_session.h"

namespace sotto::server {
namespace {

using Rows = std::vector<posix::Field<DirectoryRequest>>;

constexpr auto Row = posix::RowOf<DirectoryRequest>;

Rows Network() {
  return {
      StoreRow<DirectoryRequest>("the store that `sotto keys new` made: the nodes' names"),
      Row("state",
          "folder of the directory's memory, made with the first start; never put an older copy "
          "back")
          .Required()
          .Asked(&DirectoryRequest::state),
      Row("model", "model by name, or a file: FILE.toml").Asked(&DirectoryRequest::model),
      Row("listen", "ADDRESS:PORT; 0.0.0.0:7178 for the whole network")
          .Asked(&DirectoryRequest::listen),
      Row("port-file", "write the port here once it is open (port 0)")
          .Asked(&DirectoryRequest::port_file),
      Row("relay", "keep the newest publications, for nodes that cannot listen, and check them")
          .Asked(&DirectoryRequest::relay),
      Row("stay",
          "go on when all nodes have finished, until a signal: for a service, whose nodes may "
          "start "
          "once more")
          .Asked(&DirectoryRequest::stay),
      Row("lease",
          "seconds for which a node may keep all others from publishing: fetching, the steps of a "
          "publication and sending")
          .Within({0.1, 86400})
          .Asked(&DirectoryRequest::lease_s),
      Row("peers", "take the first N devices of the store")
          .Within({1, 10000})
          .ByDefault("all")
          .Asked(&DirectoryRequest::peers),
  };
}

Rows Outputs() {
  return {
      Row("order",
          "who may publish next: any: the node that asks first; turns: node after node, as `sotto "
          "peers simulate` does, for tests")
          .OneOf(LeaseOrder::kAny, LeaseOrder::kTurns)
          .Asked(&DirectoryRequest::order),
      JsonRow<DirectoryRequest>("the results"),
      Row("model-out", "write the newest model to this file at the end, float32 LE; with --relay")
          .Asked(&DirectoryRequest::model_out),
      Row("verbose", "also a line for each lease and connection")
          .Letter("v")
          .Asked(&DirectoryRequest::verbose),
      Row("seed", "for tests: the directory's key derives from it; not private")
          .Asked(&DirectoryRequest::seed),
      Row("insecure-seed", "confirms --seed").Asked(&DirectoryRequest::insecure_seed),
  };
}

}  // namespace

posix::Command DirectoryCommand() {
  return posix::CommandFor<DirectoryRequest>(
             "directory", "let nodes train among themselves: keep their roster, head and lease")
      .Takes(Network())
      .Takes(posix::PeerJobOptionFields(), posix::AllRows(), &DirectoryRequest::job)
      .Takes(Outputs())
      .Footer(
          "Any of these options may stand in a TOML file, without dashes: --config FILE\n"
          "Exit status: 0 all nodes have finished, 1 it failed, 2 bad usage, 130 stopped by "
          "SIGINT\n"
          "(Ctrl-C), 143 by SIGTERM")
      .Runs(RunDirectory);
}

}  // namespace sotto::server
