#include <vector>

#include "cli/commands.h"
#include "cli/rows.h"
#include "service/directory_session.h"
#include "sotto/log/event_log.h"
#include "sotto/options/exit_status.h"

namespace sotto::server {
namespace {

using DirectoryRow = posix::Field<DirectoryRequest>;

std::vector<DirectoryRow> Network() {
  return {
      StoreRow<DirectoryRequest>("the store that `sotto keys new` made: the nodes' names"),
      DirectoryRow(
          "state", &DirectoryRequest::state,
          "folder of the directory's memory, made with the first start; never put an older copy "
          "back")
          .Required(),
      DirectoryRow("model", &DirectoryRequest::model, "model by name, or a file: FILE.toml"),
      DirectoryRow("listen", &DirectoryRequest::listen,
                   "ADDRESS:PORT; 0.0.0.0:7178 for the whole network"),
      DirectoryRow("port-file", &DirectoryRequest::port_file,
                   "write the port here once it is open (port 0)"),
      DirectoryRow("relay", &DirectoryRequest::relay,
                   "keep the newest publications, for nodes that cannot listen, and check them"),
      DirectoryRow(
          "stay", &DirectoryRequest::stay,
          "go on when all nodes have finished, until a signal: for a service, whose nodes may "
          "start once more"),
      DirectoryRow(
          "lease", &DirectoryRequest::lease_s,
          "seconds for which a node may keep all others from publishing: fetching, the steps of a "
          "publication and sending")
          .Within({0.1, 86400}),
      DirectoryRow("peers", &DirectoryRequest::peers, "take the first N devices of the store")
          .Within({1, 10000})
          .ByDefault("all"),
  };
}

}  // namespace

posix::Command DirectoryCommand() {
  return posix::CommandFor<DirectoryRequest>(
             "directory", "let nodes train among themselves: keep their roster, head and lease")
      .Takes(Network())
      .TakesFor(&DirectoryRequest::job, posix::PeerJobOptionFields())
      .Takes({
          DirectoryRow(
              "order", &DirectoryRequest::order,
              "who may publish next: any: the node that asks first; turns: node after node, as "
              "`sotto peers simulate` does, for tests")
              .OneOf(LeaseOrder::kAny, LeaseOrder::kTurns),
          JsonRow<DirectoryRequest>("the results"),
          DirectoryRow("model-out", &DirectoryRequest::model_out,
                       "write the newest model to this file at the end, float32 LE; with --relay"),
          DirectoryRow(
              "log", &DirectoryRequest::log,
              "how the log is written to standard error: lines for people, json: an object a line")
              .OneOfNames(posix::LogFormatNames()),
          DirectoryRow("log-level", &DirectoryRequest::log_level,
                       "the least important events to write")
              .OneOfNames(posix::LogLevelNames()),
          DirectoryRow("verbose", &DirectoryRequest::verbose,
                       "also a line for each lease and connection: --log-level debug")
              .Letter("v")
              .Excludes("log-level"),
          DirectoryRow("seed", &DirectoryRequest::seed,
                       "for tests: the directory's key derives from it; not private"),
          DirectoryRow("insecure-seed", &DirectoryRequest::insecure_seed, "confirms --seed"),
      })
      .Footer("Any of these options may stand in a TOML file, without dashes: --config FILE\n" +
              posix::DescribeExits({{0, "all nodes have finished"},
                                    {posix::kExitFailure, "it failed"},
                                    {posix::kExitUsage, "bad usage"}}))
      .Runs(RunDirectory);
}

}  // namespace sotto::server
