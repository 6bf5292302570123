#include "sim/peer_request.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "codec/codecs.h"
#include "published/peer_noise.h"
#include "sim/peer_data.h"
#include "sotto/key_labels.h"
#include "sotto/options/command.h"
#include "sotto/options/numbers.h"
#include "sotto/peer/peer_options.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/run_key.h"
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
          "which node steps next; turns: node after node; random: a new random order for every "
          "turn")
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
      WithHelp("privacy budget of the whole training, to which the noise of a publication is "
               "calibrated; inf: no noise, NO PRIVACY",
               OfJob("epsilon")),
      OfJob("delta").ByDefault("1 / samples^2, 1e-5 at most"),
      Row("peer-noise", &PeersRequest::noise,
          "noise for --epsilon; sound: --epsilon holds; published: the noise of the paper's "
          "Theorem 2, which counts each output alone, with the epsilon that it really has")
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
          "always",
          1)
          .Unit("turns")
          .ByDefault("a tenth of all turns"),
      OfSimulation("json"),
      OfSimulation("model-out"),
      Row("job-out", &PeersRequest::job_out,
          "write the nodes' job to this file: for `sotto peers directory` and `sotto-client "
          "--peer`, or as FILE.h for firmware"),
  };
}

constexpr double kLargestDelta = 1e-5;
constexpr uint32_t kEvaluations = 10;  // where --evaluate-every is not named

void Require(bool condition, const std::string& message) {
  if (!condition) throw std::invalid_argument(message);
}

bool HasNoise(const PeersRequest& r) {
  return r.nodes.unit != PeerUnit::kNone && std::isfinite(r.epsilon) &&
         std::string(r.job.codec->name) != "none";
}

PeersConfig Settings(const PeersRequest& r, const TrainTest& data) {
  if (r.Has("samples-per-device")) RequireTakesSamples(r.fleet.partition);
  PeersConfig config;
  config.model = PeerModel(r, data.train->info());
  config.peers = r.peers;
  config.share = r.share;
  config.order = r.order;
  config.partition = r.fleet.partition;
  config.partition_seed = r.fleet.partition_seed;
  config.samples_per_peer =
      r.Has("samples-per-device")
          ? r.fleet.samples_per_device
          : static_cast<uint32_t>(std::max<size_t>(1, data.train->size() / r.peers));
  config.run_key = posix::RunKey(r.seed);
  config.is_seeded = r.seed.has_value();
  config.threads = r.job.process.threads != 0
                       ? r.job.process.threads
                       : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return config;
}

// The job without its noise.
PeerJob BareJob(const PeersRequest& r) {
  PeerJob job = r.nodes;
  if (!HasNoise(r)) job.unit = PeerUnit::kNone;
  const bool clips = job.unit == PeerUnit::kDevice;
  job.clip_l2 = clips ? r.clip_l2.value_or(r.job.training.clip_l2) : 0.0f;
  return job;
}

uint32_t MostSteps(const Partition& partition, const PeerJob& job) {
  uint32_t most = 0;
  for (uint32_t node = 0; node < partition.devices(); ++node) {
    most = std::max(most, partition.DeviceSamples(node).size());
  }
  return most / job.batch_size * job.passes;
}

// Of a node that publishes whenever it may.
uint32_t MostPublications(const PeerJob& job, uint32_t steps) {
  const uint32_t steps_of_pass = steps / job.passes;
  return job.passes * ((steps_of_pass - 1) / job.publication_steps + 1);
}

// Named alike for every node, so that a fleet with the same keys has the same job.
void SetSalt(const Key& run_key, PeerJob* job) {
  const Key salt = posix::DeriveKey(run_key, key_label::kJob);
  std::copy_n(salt.bytes, sizeof(job->salt), job->salt);
}

uint32_t SoundNoiseQ20(const PeersPlan& plan) {
  privacy::PeerTraining training = plan.training;
  // deep-q gets the noise that it would need if its inputs were public; its statement says no more.
  training.policy_inputs_are_public = true;
  training.job.noise_q20 = 1;
  const std::vector<privacy::PeerNode> nodes(plan.config.peers, privacy::PlannedPeer(training.job));
  return privacy::CalibratePeerNoise(training, nodes, plan.epsilon);
}

void AddNoise(PeersPlan* plan) {
  PeerJob& job = plan->config.job;
  if (job.unit != PeerUnit::kNone) {
    job.noise_q20 = plan->noise == PeerNoise::kSound
                        ? SoundNoiseQ20(*plan)
                        : privacy::PublishedNoiseOf(*plan->config.model, job, plan->epsilon,
                                                    plan->training.delta)
                              .noise_q20;
  }
  plan->training.job = job;
}

// The components that the samples have become. Without --pca and --model there are kDefaultPca of
// them only if there were more features before.
uint32_t PcaOfOpened(const PeersRequest& r, const Dataset& opened) {
  if (r.pca) return *r.pca;
  return dynamic_cast<const PrincipalRows*>(&opened) != nullptr ? kDefaultPca : 0;
}

double DeltaOf(const PeersRequest& r, size_t samples) {
  const auto n = static_cast<double>(std::max<size_t>(samples, 2));
  return r.delta.value_or(std::min(kLargestDelta, 1 / (n * n)));
}

constexpr double kRare = 1e-3;

// The VALUE of a text that FindSharePolicy() takes.
double ValueOf(const std::string& share, const SharePolicyInfo& info) {
  const size_t colon = share.find(':');
  const std::string text =
      colon == std::string::npos ? info.default_value : share.substr(colon + 1);
  return posix::ParseReal(text).value_or(0);
}

// The smallest k with P(Binomial(n, p) >= k) < kRare by Chernoff's bound exp(-n KL(k/n, p)).
uint32_t MostHeads(uint32_t n, double p) {
  uint32_t k = static_cast<uint32_t>(std::ceil(n * p));
  for (; k < n; ++k) {
    const double q = static_cast<double>(k) / n;
    const double divergence = q * std::log(q / p) + (1 - q) * std::log((1 - q) / (1 - p));
    if (q > p && n * divergence > -std::log(kRare)) break;
  }
  return k;
}

PolicyBounds BoundsOfCoin(double p, uint32_t steps) {
  if (p == 1) return {1, steps};
  const double most = std::ceil(std::log(kRare) / std::log1p(-p));
  return {static_cast<uint32_t>(std::min<double>(most, steps)), MostHeads(steps, p)};
}

}  // namespace

const Fields& PeersFields() {
  static const Fields kFields =
      Joined({Under(Group::kFleet, FleetAndData()), Under(Group::kPeers, Collaboration()),
              NodesJob(), Under(Group::kPrivacy, Privacy()), Under(Group::kRun, RunAndOutput())});
  return kFields;
}

std::vector<NamedInput> PeersInputsOf(const PeersRequest& request) {
  return InputsNamedIn(PeersFields(), request);
}

void CheckPeers(const PeersRequest& r) {
  RequireInRange(PeersFields(), r);
  static_cast<void>(FindPartition(r.fleet.partition));
  static_cast<void>(BoundsOf(r.share, 1));
  const bool clips = r.nodes.unit == PeerUnit::kDevice;
  Require(clips || !r.clip_l2, "--clip bounds what a node adds, for --unit device alone");
  Require(clips || !r.most_releases, "--most-releases is for --unit device");
  Require(r.clip_l2 != 0.0f, "--unit device needs a --clip above 0");
  Require(r.most_releases != 0u, "--unit device needs --most-releases above 0");
  Require(r.noise == PeerNoise::kSound || r.nodes.unit == PeerUnit::kSample,
          "--peer-noise published is the paper's, for --unit sample");
  Require(r.nodes.rule != PeerRule::kAverage || r.nodes.publication_steps == 1,
          "--publication-steps above 1 is for --rule shared or accumulate");
}

PeersPlan MakePeers(const PeersRequest& r, const TrainTest& data) {
  CheckPeers(r);
  PeersPlan plan;
  plan.config = Settings(r, data);
  plan.config.job = BareJob(r);
  plan.noise = r.noise;
  plan.epsilon = r.epsilon;
  plan.pca = PcaOfOpened(r, *data.train);
  const Partition partition = PeerPartition(plan.config, *data.train);
  PeerJob& job = plan.config.job;
  plan.most_steps = MostSteps(partition, job);
  Require(plan.most_steps > 0,
          fmt::format("--batch-size {}: no node has so many samples", job.batch_size));
  const PolicyBounds bounds = BoundsOf(r.share, plan.most_steps);
  job.most_local_steps = r.most_local_steps.value_or(bounds.most_local_steps);
  if (job.unit == PeerUnit::kDevice) {
    const uint32_t most = std::min(bounds.most_releases, MostPublications(job, plan.most_steps));
    job.most_releases = r.most_releases.value_or(std::max(1u, most));
  }
  SetSalt(plan.config.run_key, &job);
  plan.training = {plan.config.model.get(), job, FindSharePolicy(r.share).has_public_inputs(),
                   MostCopies(partition, data.train->size()), DeltaOf(r, data.train->size())};
  AddNoise(&plan);
  plan.config.evaluate_every =
      r.Has("evaluate-every") ? r.evaluate_every : std::max(1u, plan.most_steps / kEvaluations);
  return plan;
}

privacy::PeerStatement StatementOf(const PeersPlan& plan, const PeersResult& result) {
  std::vector<privacy::PeerNode> nodes;
  for (const PeerNodeReport& node : result.nodes) nodes.push_back({node.passes, node.publications});
  return privacy::StatePeers(plan.training, nodes);
}

PeersConfig NeverSharing(const PeersConfig& config) {
  PeersConfig never = config;
  never.share = "never";
  never.job.unit = PeerUnit::kNone;
  never.job.noise_q20 = never.job.most_releases = 0;
  never.job.clip_l2 = 0;
  never.evaluate_every = 0;
  return never;
}

PolicyBounds BoundsOf(const std::string& share, uint32_t steps) {
  const SharePolicyInfo& info = FindSharePolicy(share);
  const std::string name = info.name;
  if (name == "never") return {steps, 0};
  if (name == "always") return {1, steps};
  if (name == "coin") return BoundsOfCoin(ValueOf(share, info), steps);
  if (name == "period") {
    const double k = ValueOf(share, info);
    return {static_cast<uint32_t>(std::min<double>(k, steps)), static_cast<uint32_t>(steps / k)};
  }
  return {steps, steps};
}

}  // namespace sotto::server
