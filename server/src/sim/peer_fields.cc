#include "sim/peer_fields.h"

#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <string_view>

#include "sotto/options/command.h"
#include "sotto/peer/peer_options.h"
#include "sotto/policy/policies.h"
#include "spec/job_spec.h"

namespace sotto::server {
namespace {

using Row = Field<PeersRequest>;
using Fields = std::vector<Row>;

template <class Table>
auto& Find(const Table& table, const char* name) {
  for (const auto& row : table) {
    if (row.is_option() && std::string_view(row.name) == name) return row;
  }
  throw std::logic_error(fmt::format("no row is named {}", name));
}

// A row that means the same with a server.
template <class Table>
Row Shared(const Table& table, const char* name) {
  return Row(
      Find(table, name), [](auto& request) -> auto& { return request; });
}
Row OfSimulation(const char* name) { return Shared(SimulationFields(), name); }
Row OfJob(const char* name) { return Shared(JobFields(), name); }

Row WithHelp(const char* help, Row row) {
  row.help = help;
  return row;
}

Fields FleetAndData() {
  return {
      OfSimulation("data"),
      OfSimulation("test"),
      OfSimulation("classes"),
      OfSimulation("samples-per-device").ByDefault("an equal share of all"),
      OfSimulation("partition"),
      OfSimulation("partition-seed"),
      Row("pca", &PeersRequest::pca,
          "take this many principal components of the training samples, as rows of norm "
          "--feature-norm; no epsilon covers the fit; 0: none")
          .Within({0, 4096})
          .ByDefault("50 without --model if there are more features, else 0"),
  };
}

Fields Collaboration() {
  return {
      Row("peers", &PeersRequest::peers, "nodes in the fleet, M").Within({1, 10000}),
      Row("share", &PeersRequest::share, "when a node publishes: " + SharePolicyNames()),
      Row("order", &PeersRequest::order,
          "who steps next: turns: node after node; random: in an order that is drawn anew for "
          "every turn")
          .OneOf(PeerOrder::kTurns, PeerOrder::kRandom),
  };
}

// What follows from the policy or the unit unless somebody asks: the row, for another member.
Row Derived(Row row) {
  const std::string_view name = row.name;
  if (name == "clip") return row.ByDefault("0.4 with --unit device").Asks(&PeersRequest::clip_l2);
  if (name == "most-local-steps") {
    return row.ByDefault("always 1, period:K K, coin:P what one in 1000 exceeds, else all")
        .Asks(&PeersRequest::most_local_steps);
  }
  if (name == "most-releases") {
    return row.ByDefault("what the policy publishes; coin:P: what one node in 1000 exceeds")
        .Asks(&PeersRequest::most_releases);
  }
  return row;
}

// The settings of the nodes' job, but for the noise, which follows from --epsilon, and the salt.
Fields NodesJob() {
  Fields all = {
      OfJob("model").In(posix::kPeerJobGroup).ByDefault("one dense layer that fits the samples")};
  const posix::Pick pick = posix::Without({"noise", "salt"});
  for (const Field<PeerJob>& row : posix::PeerJobFields()) {
    if (pick(row)) all.push_back(Derived(Row(row, &PeersRequest::nodes)));
  }
  return all;
}

std::string WhyNoMechanism(const std::string& text) {
  if (text == "none") return "";
  return "a publication carries discrete Gaussian noise, or with --mechanism none nothing";
}

Fields Privacy() {
  return {
      WithHelp("budget of the whole training; the noise of a publication is calibrated to it; inf: "
               "no noise, NO PRIVACY",
               OfJob("epsilon")),
      OfJob("delta").ByDefault("1 / samples^2, 1e-5 at most"),
      Row("peer-noise", &PeersRequest::noise,
          "how much noise --epsilon asks for: sound: --epsilon holds; published: the noise of the "
          "paper's Theorem 2, which counts each output alone, and the epsilon that it really has")
          .OneOf(PeerNoise::kSound, PeerNoise::kPublished),
      Row("mechanism", At(&PeersRequest::job, &JobConfig::codec),
          "none: publications without noise, NO PRIVACY; the same as --unit none")
          .OneOfNames({"none"})
          .Checked(WhyNoMechanism)
          .ByDefault("discrete Gaussian noise"),
  };
}

Fields RunAndOutput() {
  return {
      OfSimulation("seed"),
      OfSimulation("seeds"),
      OfJob("threads").In(Group::kRun),
      EvaluateEvery<PeersRequest>(
          "evaluate the models after each turn whose number divides by this one; the last turn "
          "always")
          .Unit("turns")
          .ByDefault("a tenth of all turns"),
      OfSimulation("json"),
      OfSimulation("model-out"),
      Row("job-out", &PeersRequest::job_out,
          "write the nodes' job to this file: for `sotto peers directory` and `sotto-client "
          "--peer`, or as FILE.h for firmware"),
  };
}

}  // namespace

const Fields& PeersFields() {
  static const Fields kFields =
      Joined({Under(Group::kFleet, FleetAndData()), Under(Group::kPeers, Collaboration()),
              NodesJob(), Under(Group::kPrivacy, Privacy()), Under(Group::kRun, RunAndOutput())});
  return kFields;
}

}  // namespace sotto::server
