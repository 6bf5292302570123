#include "sim/peers.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "base/bytes.h"
#include "sotto/data/device_share.h"
#include "sotto/key_labels.h"
#include "sotto/peer_trainer.h"
#include "sotto/persistent_store.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

std::string AdviceAbout(Status status) {
  if (status == Status::kMismatch) {
    return "; the job does not suit the model: nodes train no personal layers, and unit sample "
           "needs one Dense layer and a rate that is not too large";
  }
  return status == Status::kInvalidArgument ? "; a node needs the samples of one batch" : "";
}

void Require(Status status, const std::string& id) {
  if (status == Status::kOk) return;
  throw std::invalid_argument(
      fmt::format("node {} failed: {}{}", id, StatusName(status), AdviceAbout(status)));
}

// Loss of a published model on samples that count as public.
class PublicSamples {
 public:
  PublicSamples(const ModelInfo& model, const SharedDataset& test) : model_(model) {
    std::vector<uint32_t> first(std::min<size_t>(kPublicSamples, test->size()));
    std::iota(first.begin(), first.end(), 0u);
    samples_ = std::make_shared<Subset>(test->name(), test, std::move(first));
  }

  static double Loss(void* context, Span<const float> global) {
    const auto& self = *static_cast<const PublicSamples*>(context);
    return server::Evaluate(self.model_, global, *self.samples_, 1).loss;
  }

 private:
  const ModelInfo& model_;
  SharedDataset samples_;
};

// A persistent store in RAM.
class MemoryStore {
 public:
  // Points to this object, which outlives it.
  PersistentStore store() { return {Load, Save, this}; }

 private:
  static Status Load(void* context, StoreSlot slot, size_t offset, MutableByteSpan out,
                     size_t* size) {
    const std::vector<uint8_t>& record = static_cast<MemoryStore*>(context)->records_[slot];
    const size_t first = std::min(offset, record.size());
    *size = std::min(out.size(), record.size() - first);
    std::copy_n(record.data() + first, *size, out.begin());
    return Status::kOk;
  }

  static Status Save(void* context, StoreSlot slot, Span<const ByteSpan> parts) {
    std::vector<uint8_t>& record = static_cast<MemoryStore*>(context)->records_[slot];
    record.clear();
    for (const ByteSpan part : parts) record.insert(record.end(), part.begin(), part.end());
    return Status::kOk;
  }

  std::map<StoreSlot, std::vector<uint8_t>> records_;
};

// One node and all that it owns. It stays where it is.
class Node {
 public:
  Node(const PeersConfig& config, uint32_t index, const Dataset& data, const DeviceIndices& samples,
       PublicSamples& open)
      : id_(fmt::format("sim-{:06}", index)),
        share_(data, samples),
        entropy_(posix::DeriveKey(config.run_key, key_label::kDevice, index), &trainer_) {
    const ModelInfo& model = *config.model;
    share_.CopyGenerated(&copies_);
    for (std::vector<float>* floats : {&local_, &work_, &head_, &last_}) {
      floats->resize(model.parameters);
    }
    scratch_.resize(model.training_floats(model, config.job.batch_size));
    indices_.resize(config.job.batch_size);
    publication_.resize(MaxPublicationBytes(model.parameters));
    PeerConfig own;
    own.model = config.model.get();
    own.job = config.job;
    own.device_id = BytesOf(id_);
    own.secret = posix::DeriveKey(config.run_key, key_label::kDevice, index);
    own.samples = share_.source();
    own.port = posix::SystemPort();
    if (config.is_seeded) {
      own.port.entropy = SeededPeerEntropy::Fill;
      own.port.context = &entropy_;
    }
    own.store = store_.store();
    Require(trainer_.Begin(own, Buffers()), id_);
    SharePolicyContext context;
    context.secret = own.secret;
    context.job_id = trainer_.job_id();
    context.parameters = model.parameters;
    context.public_loss = PublicSamples::Loss;
    context.public_loss_context = &open;
    policy_ = MakeSharePolicy(config.share, context);
    report_.samples = own.samples.count;
    steps_of_pass_ = trainer_.steps() / config.job.passes;
  }

  PeerTrainer& trainer() { return trainer_; }
  PeerNodeReport& report() { return report_; }
  Span<const float> local() const { return trainer_.local(); }
  bool has_public_policy() const { return policy_->policy().has_public_inputs(); }

  bool Decides() {
    bool share = false;
    Require(trainer_.Decide(policy_->policy(), &share), id_);
    return share;
  }

  void LearnAlone() {
    Require(trainer_.LearnAlone(), id_);
    ++report_.steps;
    ++local_steps_;
  }

  // Publishes on the head. Empty if the ledger refuses.
  std::optional<PublicationRecord> Publish(ByteSpan head, uint32_t version, uint32_t index) {
    Require(trainer_.SetHead(head), id_);
    PublicationRecord record;
    record.step = trainer_.step();
    const Status status = trainer_.Publish(version, index);
    if (status == Status::kPeerRefused) {
      ++report_.refused;
      return std::nullopt;
    }
    Require(status, id_);
    record.version = version;
    record.node = index;
    record.local_steps = local_steps_;
    record.lag = version - 1 - last_version_;
    record.bytes = static_cast<uint32_t>(trainer_.publication().size());
    Require(trainer_.Adopt(true), id_);
    last_version_ = version;
    local_steps_ = 0;
    report_.steps += trainer_.step() - record.step;
    ++report_.publications;
    const uint32_t pass = record.step / steps_of_pass_;
    if (pass >= published_passes_) ++report_.passes;
    published_passes_ = pass + 1;
    report_.bytes += record.bytes;
    return record;
  }

 private:
  PeerBuffers Buffers() {
    const auto all = [](std::vector<float>& floats) {
      return Span<float>(floats.data(), floats.size());
    };
    return {all(local_),
            all(work_),
            all(head_),
            all(last_),
            all(scratch_),
            {indices_.data(), indices_.size()},
            {publication_.data(), publication_.size()}};
  }

  const std::string id_;
  DeviceShare share_;
  std::vector<float> copies_;  // of generated samples
  MemoryStore store_;
  PeerTrainer trainer_;
  SeededPeerEntropy entropy_;
  std::unique_ptr<OwnedSharePolicy> policy_;
  std::vector<float> local_, work_, head_, last_, scratch_;
  std::vector<uint32_t> indices_;
  std::vector<uint8_t> publication_;
  PeerNodeReport report_;
  uint32_t steps_of_pass_ = 0;
  uint32_t published_passes_ = 0;  // the pass of the last publication and those before it
  uint32_t last_version_ = 0;
  uint32_t local_steps_ = 0;  // since the last publication
};

// One call of SimulatePeers().
class PeersRun {
 public:
  PeersRun(const PeersConfig& config, const TrainTest& data)
      : config_(config),
        model_(*config.model),
        test_(*data.test),
        partition_(PartitionOf(config, data)),
        open_(model_, data.test),
        order_(config.peers) {
    RequireEvaluable(model_, test_);
    for (uint32_t i = 0; i < config.peers; ++i) {
      nodes_.push_back(
          std::make_unique<Node>(config, i, *data.train, partition_.DeviceSamples(i), open_));
    }
    std::iota(order_.begin(), order_.end(), 0u);
    shared_.resize(model_.parameters);
    Require(PeerInitialModel(model_, config.job, {shared_.data(), shared_.size()}), "version 0");
  }

  PeersResult ToItsEnd(const std::function<void(uint32_t, uint32_t)>& on_turn) {
    const uint32_t turns = Turns();
    Evaluate(0);
    while (result_.turns < turns && !MustStop()) {
      OneTurn(result_.turns++);
      if (IsDue(result_.turns) && result_.turns < turns) Evaluate(result_.turns);
      on_turn(result_.turns, turns);
    }
    Evaluate(result_.turns);
    End();
    return std::move(result_);
  }

 private:
  static Partition PartitionOf(const PeersConfig& config, const TrainTest& data) {
    RequireFits(*config.model, *data.train);
    return PeerPartition(config, *data.train);
  }

  uint32_t Turns() const {
    uint32_t turns = 0;
    for (const auto& node : nodes_) turns = std::max(turns, node->trainer().steps());
    return turns;
  }

  bool MustStop() { return result_.stopped = config_.stop && config_.stop(); }
  bool IsDue(uint32_t turn) const {
    return config_.evaluate_every > 0 && turn % config_.evaluate_every == 0;
  }

  // A fresh permutation for each turn (Fisher, Yates).
  void Shuffle(uint32_t turn) {
    std::iota(order_.begin(), order_.end(), 0u);
    RandomStream random(posix::DeriveKey(config_.run_key, key_label::kPeerTurns, turn), 0);
    for (size_t left = order_.size(); left > 1; --left) {
      std::swap(order_[left - 1], order_[random.Below(static_cast<uint32_t>(left))]);
    }
    Require(random.status(), "order");
  }

  void OneTurn(uint32_t turn) {
    if (config_.order == PeerOrder::kRandom) Shuffle(turn);
    for (const uint32_t index : order_) {
      const PeerTrainer& trainer = nodes_[index]->trainer();
      // A publication of several steps takes the node past the next turns.
      if (!trainer.is_done() && trainer.step() <= turn) OneStep(index);
    }
  }

  void OneStep(uint32_t index) {
    Node& node = *nodes_[index];
    if (node.Decides()) {
      const auto version = static_cast<uint32_t>(result_.publications.size()) + 1;
      const auto record = node.Publish({head_.data(), head_.size()}, version, index);
      if (record) {
        result_.publications.push_back(*record);
        const ByteSpan bytes = node.trainer().publication();
        head_.assign(bytes.begin(), bytes.end());
        std::copy(node.local().begin(), node.local().end(), shared_.begin());
        return;
      }
    }
    node.LearnAlone();
    ++result_.local_steps;
  }

  void Evaluate(uint32_t turn) {
    PeersEvaluation now;
    now.turn = turn;
    now.version = static_cast<uint32_t>(result_.publications.size());
    now.shared = server::Evaluate(model_, {shared_.data(), shared_.size()}, test_, config_.threads);
    for (const auto& node : nodes_) {
      node->report().own = server::Evaluate(model_, node->local(), test_, config_.threads);
      const Evaluation& own = node->report().own;
      now.mean_own += own.accuracy().value_or(std::numeric_limits<double>::quiet_NaN());
      now.mean_own_loss += own.loss;
    }
    now.mean_own /= static_cast<double>(nodes_.size());
    now.mean_own_loss /= static_cast<double>(nodes_.size());
    result_.evaluations.push_back(now);
  }

  void End() {
    for (const auto& node : nodes_) {
      PeerNodeReport& report = node->report();
      const PeerLedger& ledger = node->trainer().ledger();
      report.rho_q40 =
          config_.job.unit == PeerUnit::kDevice ? ledger.device_rho_q40 : ledger.sample_rho_q40;
      report.local.assign(node->local().begin(), node->local().end());
      result_.nodes.push_back(std::move(report));
    }
    result_.shared = shared_;
    result_.has_public_policy = nodes_.front()->has_public_policy();
  }

  const PeersConfig& config_;
  const ModelInfo& model_;
  const Dataset& test_;
  const Partition partition_;
  PublicSamples open_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<uint32_t> order_;
  std::vector<uint8_t> head_;  // bytes of the newest publication; empty: version 0
  std::vector<float> shared_;
  PeersResult result_;
};

}  // namespace

const char* Name(PeerOrder order) {
  switch (order) {
    case PeerOrder::kTurns:
      return "turns";
    case PeerOrder::kRandom:
      return "random";
  }
  return "unknown";
}

const char* Name(PeerNoise noise) {
  switch (noise) {
    case PeerNoise::kSound:
      return "sound";
    case PeerNoise::kPublished:
      return "published";
  }
  return "unknown";
}

Partition PeerPartition(const PeersConfig& config, const Dataset& data) {
  const Key key = config.partition_seed ? posix::RunKey(config.partition_seed) : config.run_key;
  return MakePartition(config.partition, data, config.peers, config.samples_per_peer,
                       posix::DeriveKey(key, key_label::kPartition));
}

uint32_t MostCopies(const Partition& partition, size_t samples) {
  std::vector<uint32_t> copies(samples, 0);
  for (uint32_t node = 0; node < partition.devices(); ++node) {
    const DeviceIndices indices = partition.DeviceSamples(node);
    for (uint32_t i = 0; i < indices.size(); ++i) ++copies[indices[i]];
  }
  return copies.empty() ? 1 : std::max(1u, *std::max_element(copies.begin(), copies.end()));
}

uint64_t PeersResult::bytes() const {
  uint64_t sum = 0;
  for (const PeerNodeReport& node : nodes) sum += node.bytes;
  return sum;
}

uint64_t PeersResult::steps() const {
  uint64_t sum = 0;
  for (const PeerNodeReport& node : nodes) sum += node.steps;
  return sum;
}

PeersResult SimulatePeers(const PeersConfig& config, const TrainTest& data,
                          const std::function<void(uint32_t, uint32_t)>& on_turn) {
  const auto start = std::chrono::steady_clock::now();
  PeersResult result = PeersRun(config, data).ToItsEnd(on_turn);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  result.wall_seconds = took.count();
  return result;
}

}  // namespace sotto::server
