#include "audit/peer_audit.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>

#include "accounting/figures.h"
#include "base/mean_deviation.h"
#include "base/parallel.h"
#include "plans/calibration.h"
#include "sotto/key_labels.h"
#include "sotto/nn.h"
#include "sotto/peer_trainer.h"
#include "sotto/policy/policies.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

constexpr uint32_t kInputs = 7;
constexpr uint32_t kBatch = 4;
constexpr uint32_t kSteps = 8;          // of a node whose publications are drawn
constexpr uint32_t kPrivateSteps = 64;  // of one whose decisions depend on private data
constexpr uint32_t kNoSample = UINT32_MAX;
constexpr uint32_t kDecisionRepeats = 2000;
constexpr uint32_t kFewestRepeats = 1000;
// At zero weights an error is 1/2. Clamped there, opposite labels differ by the whole bound.
constexpr float kErrorClip = 0.5f;

using Net = nn::Sequential<nn::Dense<kInputs, 1>, nn::OneVsAll>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("logistic-7");

PeerJob JobOf(const PeerAuditOptions& options) {
  PeerJob job;
  job.rule = options.rule;
  job.batch_size = kBatch;
  job.learning_rate = 0.5f;
  job.error_clip = kErrorClip;
  job.most_local_steps = kPrivateSteps;
  job.publication_steps = options.publication_steps;
  job.noise_q20 = 1;
  return job;
}

// What others see of a node.
struct Seen {
  std::vector<bool> decisions;  // up to and with the first publication, or all
  double along = 0;             // the publication, along the canary's direction, model units
  bool has_published = false;
};

// A node with its canary: sample `canary` is all ones, of class `label`; all others are zeros.
class AuditedNode {
 public:
  AuditedNode(const PeerAuditOptions& options, const PeerJob& job, const Key& secret,
              uint32_t steps = kSteps)
      : options_(options), secret_(secret) {
    config_.model = &kModel;
    config_.job = job;
    static constexpr uint8_t kName[] = {'n', 'o', 'd', 'e'};
    config_.device_id = kName;
    config_.secret = secret;
    config_.samples = {kBatch * steps, Read, this};
    config_.port.entropy = Fill;
    config_.port.context = this;
    config_.store = {Load, Save, this};
    canary_ = FirstSample();
  }

  // Draws noise anew: `number` and the label decide it.
  Seen Run(uint32_t label, uint32_t number) {
    noise_label_ = label;
    return RunUntil(label, number, false);
  }

  // All steps, under noise that the label does not decide.
  Seen RunToEnd(uint32_t label) {
    noise_label_ = 0;
    return RunUntil(label, 0, true);
  }

 private:
  Seen RunUntil(uint32_t label, uint32_t number, bool to_end) {
    label_ = label;
    noise_ = number;
    Require(trainer_.Begin(config_, Buffers()));
    const auto policy = MakeSharePolicy(
        options_.share, {secret_, trainer_.job_id(), kModel.parameters, PublicLoss, nullptr});
    Seen seen;
    uint32_t version = 0;
    while (!trainer_.is_done() && (to_end || !seen.has_published)) {
      bool share = false;
      Require(trainer_.Decide(policy->policy(), &share));
      seen.decisions.push_back(share);
      Require(share ? trainer_.Publish(++version, 0) : trainer_.LearnAlone());
      if (share) Require(trainer_.Adopt(true));
      seen.has_published = seen.has_published || share;
    }
    const double length = std::sqrt(kModel.parameters);
    for (const float x : trainer_.local()) seen.along += x / length;
    return seen;
  }

  static void Require(Status status) {
    if (status == Status::kOk) return;
    throw std::runtime_error(fmt::format("the audited node failed: {}", StatusName(status)));
  }

  // A number that everybody may know, in place of a loss on public samples.
  static double PublicLoss(void*, Span<const float> global) {
    double sum = 0;
    for (const float x : global) sum += static_cast<double>(x) * x;
    return sum;
  }

  // The sample that the node reads first.
  uint32_t FirstSample() {
    canary_ = kNoSample;
    Require(trainer_.Begin(config_, Buffers()));
    first_read_ = kNoSample;
    Require(trainer_.LearnAlone());
    return first_read_;
  }

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    auto& self = *static_cast<AuditedNode*>(context);
    if (self.first_read_ == kNoSample) self.first_read_ = index;
    const bool is_canary = index == self.canary_;
    for (float& x : features) x = is_canary ? 1.0f / std::sqrt(static_cast<float>(kInputs)) : 0.0f;
    *label = is_canary ? self.label_ : index % 2;
    return Status::kOk;
  }
  static Status Fill(void* context, MutableByteSpan out) {
    auto& self = *static_cast<AuditedNode*>(context);
    const Key key = posix::DeriveKey(self.secret_, key_label::kAudit, self.noise_,
                                     self.noise_label_, self.trainer_.step());
    RandomStream random(key, 0);
    random.Fill(out);
    return random.status();
  }
  static Status Load(void*, StoreSlot, size_t, MutableByteSpan, size_t* size) {
    *size = 0;
    return Status::kOk;
  }
  static Status Save(void*, StoreSlot, Span<const ByteSpan>) { return Status::kOk; }

  PeerBuffers Buffers() {
    return {models_[0], models_[1], models_[2], models_[3], scratch_, indices_, publication_};
  }

  const PeerAuditOptions& options_;
  const Key secret_;
  PeerConfig config_;
  uint32_t canary_ = kNoSample;
  uint32_t first_read_ = 0;
  uint32_t label_ = 0;
  uint32_t noise_ = 0;
  uint32_t noise_label_ = 0;
  float models_[4][Net::kParameters] = {};
  float scratch_[nn::TrainingMemory(Net::Plan(), Net::kLoss, kBatch)] = {};
  uint32_t indices_[kBatch] = {};
  uint8_t publication_[MaxPublicationBytes(Net::kParameters)] = {};
  PeerTrainer trainer_;
};

Key NodeKey(const Key& key, uint32_t number) {
  return posix::DeriveKey(key, key_label::kDevice, number);
}

// The number of the first node that publishes within the audit's steps.
uint32_t PublishingNode(const PeerAuditOptions& options, const PeerJob& job, const Key& key) {
  for (uint32_t number = 0; number < 100; ++number) {
    if (AuditedNode(options, job, NodeKey(key, number)).Run(0, 0).has_published) return number;
  }
  throw std::invalid_argument(
      fmt::format("--share {}: such a node does not publish in {} steps, so there is nothing to "
                  "audit; name a policy that publishes sooner",
                  options.share, kSteps));
}

// Publications of one node, with either label of its canary.
struct Draws {
  std::vector<double> with;
  std::vector<double> without;
};

Draws DrawPublications(const PeerAuditOptions& options, const PeerJob& job, const Key& secret,
                       const std::function<void(double)>& done) {
  Draws draws;
  draws.with.resize(options.repeats);
  draws.without.resize(options.repeats);
  constexpr uint32_t kPieces = 50;
  for (uint32_t piece = 0; piece < kPieces; ++piece) {
    const uint32_t begin = static_cast<uint32_t>(uint64_t{options.repeats} * piece / kPieces);
    const uint32_t end = static_cast<uint32_t>(uint64_t{options.repeats} * (piece + 1) / kPieces);
    const auto workers = static_cast<size_t>(options.threads);
    ParallelFor(options.threads, workers, [&](size_t worker, int) {
      AuditedNode node(options, job, secret);
      for (size_t i = begin + worker; i < end; i += workers) {
        draws.with[i] = node.Run(1, static_cast<uint32_t>(i)).along;
        draws.without[i] = node.Run(0, static_cast<uint32_t>(i)).along;
      }
    });
    done(static_cast<double>(piece + 1) / kPieces);
  }
  return draws;
}

void MeasurePublications(const PeerAuditOptions& options, const Draws& draws, PeerAudit* audit) {
  std::vector<double> deltas = {options.delta};
  deltas.insert(deltas.end(), options.deltas.begin(), options.deltas.end());
  const Span<const double> with = {draws.with.data(), draws.with.size()};
  const Span<const double> without = {draws.without.data(), draws.without.size()};
  for (const MeasuredEpsilon& measured : MeasureEpsilon(with, without, deltas, options.error / 2)) {
    const double claimed = privacy::ZcdpEpsilon(audit->statement.rho, measured.delta);
    const EpsilonTest test = {measured, claimed, claimed};
    audit->tests.push_back(test);
    if (!test.is_violated()) continue;
    audit->violations.push_back(fmt::format(
        "epsilon is at least {} at delta {}, where the publications are claimed to cost at most "
        "{}: the noise is too small, or a sample moves a publication by more than the bound",
        privacy::LowerBoundText(measured.epsilon_lower), privacy::DeltaText(measured.delta),
        privacy::EpsilonText(test.claimed)));
  }
  audit->shift = std::abs(MeanDeviationOf(draws.with).mean - MeanDeviationOf(draws.without).mean) /
                 (audit->statement.sensitivity_q20 * 0x1p-20);
}

// Decisions of one node whose canary changes them, over fresh noise: 1 if they are those that the
// attacker expects of label 1.
std::vector<MeasuredEpsilon> MeasureDecisions(const PeerAuditOptions& options, const PeerJob& job,
                                              const Key& secret) {
  AuditedNode node(options, job, secret, kPrivateSteps);
  const std::vector<bool> expected = node.Run(1, 0).decisions;
  std::vector<double> with;
  std::vector<double> without;
  for (uint32_t i = 1; i <= kDecisionRepeats; ++i) {
    with.push_back(node.Run(1, i).decisions == expected ? 1 : 0);
    without.push_back(node.Run(0, i).decisions == expected ? 1 : 0);
  }
  return MeasureEpsilon({with.data(), with.size()}, {without.data(), without.size()},
                        options.deltas, options.error / 2);
}

// Whether the canary changes a node's decisions.
struct Apart {
  bool at_first = false;    // up to the first publication
  bool under_same = false;  // in all steps, under the same noise
};

void CompareDecisions(const PeerAuditOptions& options, const PeerJob& job, const Key& key,
                      PeerAudit* audit) {
  const bool is_public = audit->statement.refusal.empty();
  std::vector<Apart> apart(options.keys);
  ParallelFor(options.threads, options.keys, [&](size_t i, int) {
    AuditedNode node(options, job, NodeKey(key, static_cast<uint32_t>(i)),
                     is_public ? kSteps : kPrivateSteps);
    apart[i].at_first = node.Run(1, 0).decisions != node.Run(0, 0).decisions;
    if (!is_public) apart[i].under_same = node.RunToEnd(1).decisions != node.RunToEnd(0).decisions;
  });
  audit->keys = options.keys;
  const auto is_apart = [](const Apart& a) { return a.at_first; };
  audit->keys_apart = static_cast<uint32_t>(std::count_if(apart.begin(), apart.end(), is_apart));
  audit->keys_apart_in_all = static_cast<uint32_t>(
      std::count_if(apart.begin(), apart.end(), [](const Apart& a) { return a.under_same; }));
  if (audit->keys_apart == 0) return;
  const auto first = std::find_if(apart.begin(), apart.end(), is_apart) - apart.begin();
  audit->decisions = MeasureDecisions(options, job, NodeKey(key, static_cast<uint32_t>(first)));
  if (!is_public) return;
  audit->violations.push_back(fmt::format(
      "one sample changed the decisions of {} of {} nodes, and the policy says that it looks at "
      "nothing private",
      audit->keys_apart, audit->keys));
}

}  // namespace

PeerAudit AuditPeers(const PeerAuditOptions& options, const Key& key,
                     const std::function<void(double)>& done) {
  if (options.repeats < kFewestRepeats || options.repeats % 2 != 0 || options.keys == 0) {
    throw std::invalid_argument(
        "an audit of nodes takes an even number of repeats, at least 1000, and at least one key");
  }
  PeerJob job = JobOf(options);
  if (job.rule == PeerRule::kAverage && job.publication_steps > 1) {
    throw std::invalid_argument("publications of several steps need rule shared or accumulate");
  }
  const bool is_public = FindSharePolicy(options.share).has_public_inputs();
  const std::vector<privacy::PeerNode> nodes = {{1, 1}};
  job.noise_q20 =
      privacy::CalibratePeerNoise({&kModel, job, true, 1, options.delta}, nodes, options.epsilon);
  const privacy::PeerTraining training = {&kModel, job, is_public, 1, options.delta};
  PeerAudit audit;
  audit.noise_q20 = job.noise_q20;
  audit.statement = privacy::StatePeers(training, nodes);
  if (is_public) {
    const uint32_t number = PublishingNode(options, job, key);
    MeasurePublications(options, DrawPublications(options, job, NodeKey(key, number), done),
                        &audit);
  }
  CompareDecisions(options, job, key, &audit);
  done(1);
  return audit;
}

}  // namespace sotto::server
