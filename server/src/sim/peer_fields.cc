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

using Fields = std::vector<Field<PeersRequest>>;

constexpr auto Row = RowOf<PeersRequest>;

template <class Table>
auto& Find(const Table& table, const char* name) {
  for (const auto& row : table) {
    if (row.is_option() && std::string_view(row.name) == name) return row;
  }
  throw std::logic_error(fmt::format("no row is named {}", name));
}

// A row that means the same with a server.
template <class Table>
Field<PeersRequest> Shared(const Table& table, const char* name) {
  return posix::RowAt<PeersRequest>(
      Find(table, name), [](auto& request) -> auto& { return request; });
}
Field<PeersRequest> OfSimulation(const char* name) { return Shared(SimulationFields(), name); }
Field<PeersRequest> OfJob(const char* name) { return Shared(JobFields(), name); }

Field<PeersRequest> WithHelp(const char* help, Field<PeersRequest> row) {
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
      Row("pca",
          "take this many principal components of the training samples, as rows of norm "
          "--feature-norm; no epsilon covers the fit; 0: none")
          .In(Group::kFleet)
          .Within({0, 4096})
          .ByDefault("50 without --model if there are more features, else 0")
          .Asked(&PeersRequest::pca),
  };
}

Fields Collaboration() {
  return {
      Row("peers", "nodes in the fleet, M")
          .In(Group::kPeers)
          .Within({1, 10000})
          .Asked(&PeersRequest::peers),
      Row("share", "when a node publishes: " + SharePolicyNames())
          .In(Group::kPeers)
          .Asked(&PeersRequest::share),
      Row("order",
          "who steps next: turns: node after node; random: in an order that is drawn anew for "
          "every turn")
          .In(Group::kPeers)
          .OneOf(PeerOrder::kTurns, PeerOrder::kRandom)
          .Asked(&PeersRequest::order),
  };
}

// What follows from the policy or the unit unless somebody asks: the row, for another member.
Field<PeersRequest> Derived(Field<PeersRequest> row) {
  const std::string_view name = row.name;
  if (name == "clip") return row.ByDefault("0.4 with --unit device").Asked(&PeersRequest::clip_l2);
  if (name == "most-local-steps") {
    return row.ByDefault("always 1, period:K K, coin:P what one in 1000 exceeds, else all")
        .Asked(&PeersRequest::most_local_steps);
  }
  if (name == "most-releases") {
    return row.ByDefault("what the policy publishes; coin:P: what one node in 1000 exceeds")
        .Asked(&PeersRequest::most_releases);
  }
  return row;
}

// The settings of the nodes' job, but for the noise, which follows from --epsilon, and the salt.
Fields NodesJob() {
  Fields all = {
      OfJob("model").In(posix::kPeerJobGroup).ByDefault("one dense layer that fits the samples")};
  const posix::Pick pick = posix::Without({"noise", "salt"});
  for (const Field<PeerJob>& row : posix::PeerJobFields()) {
    if (pick(row)) all.push_back(Derived(posix::RowAt<PeersRequest>(row, &PeersRequest::nodes)));
  }
  return all;
}

std::string WhyNoMechanism(const std::string& text) {
  if (text == "none") return "";
  return "a publication carries discrete Gaussian noise, or with --mechanism none nothing";
}

Fields Privacy() {
  return {
      WithHelp(
          "budget of the whole training; the noise of a publication is calibrated to it; inf: no "
          "noise, NO PRIVACY",
          OfJob("epsilon")),
      OfJob("delta").ByDefault("1 / samples^2, 1e-5 at most"),
      Row("peer-noise",
          "how much noise --epsilon asks for: sound: --epsilon holds; published: the noise of the "
          "paper's Theorem 2, which counts each output alone, and the epsilon that it really has")
          .In(Group::kPrivacy)
          .OneOf(PeerNoise::kSound, PeerNoise::kPublished)
          .Asked(&PeersRequest::noise),
      Row("mechanism", "none: publications without noise, NO PRIVACY; the same as --unit none")
          .In(Group::kPrivacy)
          .OneOfNames({"none"})
          .Checked(WhyNoMechanism)
          .ByDefault("discrete Gaussian noise")
          .Asked([](auto& request) -> auto& { return request.job.codec; }),
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
      Row("job-out",
          "write the nodes' job to this file: for `sotto peers directory` and `sotto-client "
          "--peer`, or as FILE.h for firmware")
          .In(Group::kRun)
          .Asked(&PeersRequest::job_out),
  };
}

}  // namespace

const Fields& PeersFields() {
  static const Fields kFields = [] {
    Fields all;
    for (const Fields& part :
         {FleetAndData(), Collaboration(), NodesJob(), Privacy(), RunAndOutput()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return kFields;
}

}  // namespace sotto::server
