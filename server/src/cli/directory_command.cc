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
          "folder of the directory's state, made at the first start; never restore an older copy")
          .Required(),
      DirectoryRow("model", &DirectoryRequest::model, "model by name, or a file: FILE.toml"),
      DirectoryRow("listen", &DirectoryRequest::listen,
                   "ADDRESS:PORT; 0.0.0.0:7178 for the whole network"),
      DirectoryRow("port-file", &DirectoryRequest::port_file,
                   "write the port to this file once it is open (port 0)"),
      DirectoryRow("relay", &DirectoryRequest::relay,
                   "keep and check the newest publications, for nodes that cannot listen"),
      DirectoryRow(
          "stay", &DirectoryRequest::stay,
          "run on after all nodes have finished, until a signal: for a service, whose nodes may "
          "start again"),
      DirectoryRow(
          "lease", &DirectoryRequest::lease_s,
          "most seconds for which one node may hold the right to publish: to fetch, take the steps "
          "of a publication and send")
          .Within({0.1, 86400}),
      DirectoryRow("peers", &DirectoryRequest::peers, "admit only the first N devices of the store")
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
              "who may publish next; any: the node that asks first; turns: node after node, as "
              "`sotto peers simulate` does, for tests")
              .OneOf(LeaseOrder::kAny, LeaseOrder::kTurns),
          JsonRow<DirectoryRequest>("the results"),
          DirectoryRow("model-out", &DirectoryRequest::model_out,
                       "with --relay: write the newest model to this file at the end, float32 LE"),
          DirectoryRow(
              "log", &DirectoryRequest::log,
              "format of the log on standard error; lines: for people; json: one object a line")
              .OneOfNames(posix::LogFormatNames()),
          DirectoryRow("log-level", &DirectoryRequest::log_level,
                       "the least important events to write")
              .OneOfNames(posix::LogLevelNames()),
          DirectoryRow("verbose", &DirectoryRequest::verbose,
                       "log also each lease and connection, as --log-level debug")
              .Letter("v")
              .Excludes("log-level"),
          DirectoryRow("seed", &DirectoryRequest::seed,
                       "for tests: the directory's key derives from this number; NOT PRIVATE"),
          DirectoryRow("insecure-seed", &DirectoryRequest::insecure_seed, "confirms --seed"),
      })
      .Footer("Any of these options may stand in a TOML file, without dashes: --config FILE\n" +
              posix::DescribeExits({{0, "all nodes have finished"},
                                    {posix::kExitFailure, "it failed"},
                                    {posix::kExitUsage, "bad usage"}}))
      .Runs(RunDirectory);
}

}  // namespace sotto::server
