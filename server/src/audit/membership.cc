#include "audit/membership.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "audit/observed_training.h"
#include "base/mean_deviation.h"
#include "base/parallel.h"
#include "evaluation/evaluation.h"
#include "sotto/data/sample_split.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

// The samples that some device trains on, ascending, each once.
std::vector<uint32_t> MembersOf(const Dataset& data, const Fleet& fleet, double held_out) {
  std::vector<uint32_t> members;
  const Partition& partition = fleet.partition();
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    const DeviceIndices indices = partition.DeviceSamples(device);
    if (held_out == 0) {
      for (uint32_t i = 0; i < indices.size(); ++i) members.push_back(indices[i]);
      continue;
    }
    const SplitParts parts = SplitSamples(data, indices, held_out);
    for (const uint32_t position : parts.training) members.push_back(indices[position]);
  }
  std::sort(members.begin(), members.end());
  members.erase(std::unique(members.begin(), members.end()), members.end());
  return members;
}

std::vector<uint32_t> Draw(size_t from, size_t count, RandomStream& random) {
  return DrawSamples(from, count, [&](uint32_t bound) { return random.Below(bound); });
}

std::vector<double> Negated(std::vector<double> losses) {
  // A loss that is no number is the largest: such a sample is taken for no member.
  for (double& loss : losses) loss = std::isnan(loss) ? -HUGE_VAL : -loss;
  return losses;
}

// Some samples of a data set, without owning it.
class Chosen : public Dataset {
 public:
  Chosen(const Dataset& of, Span<const uint32_t> samples)
      : Dataset(of.name(), of.info()), of_(of), samples_(samples) {}

  size_t size() const override { return samples_.size(); }
  void CopyFeatures(size_t i, Span<float> out) const override {
    of_.CopyFeatures(samples_[i], out);
  }
  uint32_t Label(size_t i) const override { return of_.Label(samples_[i]); }
  void CopyTarget(size_t i, Span<float> out) const override { of_.CopyTarget(samples_[i], out); }
  uint32_t Group(size_t i) const override { return of_.Group(samples_[i]); }
  Span<const uint8_t> Bytes(size_t i) const override { return of_.Bytes(samples_[i]); }

 private:
  const Dataset& of_;
  Span<const uint32_t> samples_;
};

// The losses of the samples of these indices, in their order, whatever the number of threads.
//   parameters  [model.parameters]
//   data        fits the model: RequireEvaluable()
std::vector<double> SampleLosses(const ModelInfo& model, Span<const float> parameters,
                                 const Dataset& data, Span<const uint32_t> samples, int threads) {
  std::vector<double> losses(samples.size());
  const size_t pieces = (samples.size() + kSamplesPerPiece - 1) / kSamplesPerPiece;
  ParallelFor(threads, pieces, [&](size_t piece, int) {
    const size_t end = std::min((piece + 1) * kSamplesPerPiece, samples.size());
    for (size_t i = piece * kSamplesPerPiece; i < end; ++i) {
      losses[i] = Evaluate(model, parameters, Chosen(data, samples.subspan(i, 1)), 1).loss;
    }
  });
  return losses;
}

// The two sets of samples, and the attack on a model.
class Attack {
 public:
  Attack(const SimulationConfig& config, const TrainTest& data, const Fleet& fleet,
         uint32_t samples, const Key& run_key, MembershipAudit* audit)
      : config_(config), data_(data) {
    RequireEvaluable(*config.job.model, *data.test);
    members_ = MembersOf(*data.train, fleet, config.fleet.held_out);
    audit->members_there = members_.size();
    audit->others_there = data.test->size();
    const size_t count = std::min({size_t{samples}, members_.size(), data.test->size()});
    if (count < 2) {
      throw std::invalid_argument(
          "membership inference needs two samples that devices train on, and two of the test set");
    }
    audit->samples = count;
    RandomStream random(posix::DeriveKey(run_key, key_label::kAudit), 0);
    others_ = Draw(data.test->size(), count, random);
    std::vector<uint32_t> chosen;
    for (const uint32_t i : Draw(members_.size(), count, random)) chosen.push_back(members_[i]);
    members_ = std::move(chosen);
  }

  MembershipRound On(uint32_t rounds, Span<const float> parameters) const {
    const std::vector<double> of_members = Losses(parameters, *data_.train, members_);
    const std::vector<double> of_others = Losses(parameters, *data_.test, others_);
    MembershipRound round;
    round.rounds = rounds;
    round.loss_of_members = MeanDeviationOf(of_members).mean;
    round.loss_of_others = MeanDeviationOf(of_others).mean;
    const std::vector<double> members = Negated(of_members);
    const std::vector<double> others = Negated(of_others);
    round.auc = MeasureAuc({members.data(), members.size()}, {others.data(), others.size()});
    return round;
  }

 private:
  std::vector<double> Losses(Span<const float> parameters, const Dataset& data,
                             const std::vector<uint32_t>& samples) const {
    return SampleLosses(*config_.job.model, parameters, data, {samples.data(), samples.size()},
                        config_.threads);
  }

  const SimulationConfig& config_;
  const TrainTest& data_;
  std::vector<uint32_t> members_;
  std::vector<uint32_t> others_;
};

}  // namespace

MembershipAudit AuditMembership(const SimulationConfig& config, const TrainTest& data,
                                uint32_t samples, const std::function<bool()>& stop,
                                const std::function<void(const MembershipRound&)>& on_round) {
  if (config.evaluate_every == 0) {
    throw std::invalid_argument(
        "--evaluate-every 0 evaluates no model, and this audit attacks models by their losses; "
        "name a number from 1 on");
  }
  const Key run_key = posix::RunKey(config.seed);
  ObservedTraining training(config, *data.train, run_key);
  MembershipAudit audit;
  const Attack attack(config, data, training.fleet(), samples, run_key, &audit);
  const Job& job = training.job();
  const auto note = [&](const RoundOutcome* outcome) {
    MembershipRound round = attack.On(job.round(), job.parameters());
    if (outcome != nullptr && config.job.codec->accounted) round.claim = outcome->spent.Headline();
    audit.rounds.push_back(round);
    on_round(round);
  };
  note(nullptr);
  std::optional<RoundOutcome> last;
  while (!stop()) {
    const std::optional<RoundOutcome> outcome = training.NextRound();
    if (!outcome) break;
    last = outcome;
    if (job.round() % config.evaluate_every == 0) note(&*last);
  }
  if (last && audit.rounds.back().rounds != job.round()) note(&*last);
  audit.finish_reason = job.finish_reason().empty() ? "stopped" : job.finish_reason();
  return audit;
}

}  // namespace sotto::server
