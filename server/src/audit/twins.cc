#include "audit/twins.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "aggregate/methods.h"
#include "audit/observed_training.h"
#include "sotto/data/device_share.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"

namespace sotto::server {
namespace {

// How far rounding alone may move a release of these parameters: the model rounds to float32, and
// the codec to Q20 of the noise's deviation.
double Rounding(const SimulationConfig& config, Span<const float> parameters, double sigma) {
  double squares = 0;
  for (const float w : parameters) squares += static_cast<double>(w) * static_cast<double>(w);
  const double of_codec =
      std::ldexp(sigma, -20) * std::sqrt(static_cast<double>(parameters.size()));
  return 0x1p-22 * std::sqrt(squares) + of_codec * config.job.aggregation.server_learning_rate;
}

// A training set that has some samples of another set. Replace() is called once, after the fleet
// has dealt the samples out: both trainings must have the same partition.
class NeighbouringData : public Dataset {
 public:
  NeighbouringData(SharedDataset data, SharedDataset others)
      : Dataset(data->name(), data->info()), data_(std::move(data)), others_(std::move(others)) {}

  void Replace(std::map<size_t, size_t> replaced) { replaced_ = std::move(replaced); }

  size_t size() const override { return data_->size(); }
  void CopyFeatures(size_t i, Span<float> out) const override {
    const auto [data, at] = Of(i);
    data->CopyFeatures(at, out);
  }
  uint32_t Label(size_t i) const override {
    const auto [data, at] = Of(i);
    return data->Label(at);
  }
  void CopyTarget(size_t i, Span<float> out) const override {
    const auto [data, at] = Of(i);
    data->CopyTarget(at, out);
  }
  uint32_t Group(size_t i) const override { return data_->Group(i); }
  uint32_t group_count() const override { return data_->group_count(); }
  std::string GroupName(uint32_t group) const override { return data_->GroupName(group); }
  Span<const uint8_t> Bytes(size_t i) const override {
    const auto [data, at] = Of(i);
    return data->Bytes(at);
  }
  bool is_generated() const override { return data_->is_generated(); }
  bool has_windows() const override { return data_->has_windows(); }
  size_t Place(size_t i) const override { return data_->Place(i); }

 private:
  std::pair<const Dataset*, size_t> Of(size_t i) const {
    const auto found = replaced_.find(i);
    if (found == replaced_.end()) return {data_.get(), i};
    return {others_.get(), found->second};
  }

  SharedDataset data_;
  SharedDataset others_;
  std::map<size_t, size_t> replaced_;
};

double DistanceOf(Span<const float> a, Span<const float> b) {
  double squares = 0;
  for (size_t j = 0; j < a.size(); ++j) {
    const double difference = static_cast<double>(a[j]) - static_cast<double>(b[j]);
    squares += difference * difference;
  }
  return std::sqrt(squares);
}

// The devices that train on any of these samples.
std::vector<bool> Holders(const Partition& partition, const std::map<size_t, size_t>& samples) {
  std::vector<bool> holds(partition.devices());
  for (uint32_t device = 0; device < partition.devices(); ++device) {
    const DeviceIndices indices = partition.DeviceSamples(device);
    for (uint32_t i = 0; i < indices.size(); ++i) {
      if (samples.count(indices[i]) != 0) holds[device] = true;
    }
  }
  return holds;
}

// A neighbour: the same training, with the data of one device replaced.
class Twin {
 public:
  Twin(const SimulationConfig& config, const TrainTest& data, const Key& run_key)
      : config_(config),
        run_key_(run_key),
        data_(std::make_shared<NeighbouringData>(data.train, data.test)),
        training_(config, *data_, run_key) {}

  void Replace(const std::map<size_t, size_t>& replaced) {
    data_->Replace(replaced);
    holders_ = Holders(training_.fleet().partition(), replaced);
  }

  // One round of both trainings has begun from `before`, the state of the first.
  void Follow(const ObservedTraining& first, const JobState& before, TwinRound* round) {
    training_.NextRound();
    const Job& job = first.job();
    round->distance =
        std::max(round->distance, DistanceOf(job.parameters(), training_.job().parameters()));
    const std::vector<uint32_t>& cohort = job.cohort();
    const auto holds = [&](uint32_t device) { return holders_[device]; };
    const auto devices = static_cast<uint32_t>(std::count_if(cohort.begin(), cohort.end(), holds));
    round->devices = std::max(round->devices, devices);
    if (devices == 0) return;
    Job other(config_.job, training_.fleet().registry(), log_,
              posix::DeriveKey(run_key_, key_label::kServer), before);
    if (!other.OpenRound()) return;
    training_.fleet().RunRound(other, config_.threads);
    other.CloseRound();
    round->one_round = std::max(round->one_round, DistanceOf(job.parameters(), other.parameters()));
  }

 private:
  const SimulationConfig& config_;
  const Key run_key_;
  const std::shared_ptr<NeighbouringData> data_;
  ObservedTraining training_;
  NoLog log_;
  std::vector<bool> holders_;
};

// A sample of the test set that differs from this one in its label, if labels differ at all.
size_t AnotherSample(const TrainTest& data, size_t sample, RandomStream& random) {
  const auto size = static_cast<uint32_t>(data.test->size());
  const uint32_t first = random.Below(size);
  for (uint32_t i = 0; i < size; ++i) {
    const size_t other = (size_t{first} + i) % size;
    if (data.test->Label(other) != data.train->Label(sample)) return other;
  }
  return first;
}

// Devices that have samples, in random order.
std::vector<uint32_t> DrawHolders(const Partition& partition, uint32_t count,
                                  RandomStream& random) {
  std::vector<uint32_t> drawn;
  for (const uint32_t device : DrawSamples(partition.devices(), partition.devices(),
                                           [&](uint32_t bound) { return random.Below(bound); })) {
    if (partition.DeviceSamples(device).size() > 0) drawn.push_back(device);
    if (drawn.size() == count) return drawn;
  }
  throw std::invalid_argument(fmt::format(
      "--pairs {}: only {} devices have samples that could be replaced", count, drawn.size()));
}

// What replaces the samples of a device.
std::map<size_t, size_t> Replacement(const TrainTest& data, const SimulationConfig& config,
                                     const DeviceIndices& indices, TwinUnit unit,
                                     RandomStream& random) {
  std::map<size_t, size_t> replaced;
  if (unit == TwinUnit::kDevice) {
    for (uint32_t i = 0; i < indices.size(); ++i) {
      replaced[indices[i]] = AnotherSample(data, indices[i], random);
    }
    return replaced;
  }
  const std::vector<uint32_t> training =
      SplitSamples(*data.train, indices, config.fleet.held_out).training;
  if (training.empty()) return replaced;
  const uint32_t chosen = indices[training[random.Below(static_cast<uint32_t>(training.size()))]];
  replaced[chosen] = AnotherSample(data, chosen, random);
  return replaced;
}

void RequireSameNoise(const JobConfig& job) {
  if (job.codec->same_noise) return;
  throw std::invalid_argument(fmt::format(
      "--mechanism {}: its noise depends on the update, so twin trainings would differ by noise; "
      "take float32, which adds Gaussian noise of the same deviation, or none",
      job.codec->name));
}

// The bound of a round is the bound of its noisy sum, scaled by eta_g.
void RequirePlainStep(const AggregationOptions& options) {
  const std::string estimator = ChooseEstimator(options).name;
  const bool is_plain = (estimator == "mean" || estimator == "laplacian") &&
                        std::string(ChooseOptimiser(options).name) == "sgd";
  if (is_plain) return;
  throw std::invalid_argument(
      "the audit knows the bound on a release only for a plain step along the mean: leave out "
      "--server-optimiser and --estimator, which say nothing about the sensitivity");
}

}  // namespace

bool TwinAudit::HasMeasured() const {
  return std::any_of(rounds.begin(), rounds.end(),
                     [](const TwinRound& round) { return round.devices > 0; });
}

TwinAudit AuditTwins(const SimulationConfig& asked, const TrainTest& data,
                     const TwinOptions& options, const std::function<bool()>& stop,
                     const std::function<void(const TwinRound&)>& on_round) {
  SimulationConfig config = asked;
  config.job.aggregation.grid = 0;
  RequireSameNoise(config.job);
  RequirePlainStep(config.job.aggregation);
  const Key run_key = posix::RunKey(config.seed);
  ObservedTraining first(config, *data.train, run_key);
  RandomStream random(posix::DeriveKey(run_key, key_label::kAudit), 0);
  const Partition& partition = first.fleet().partition();
  std::vector<std::unique_ptr<Twin>> twins;
  for (const uint32_t device : DrawHolders(partition, options.pairs, random)) {
    twins.push_back(std::make_unique<Twin>(config, data, run_key));
    twins.back()->Replace(
        Replacement(data, config, partition.DeviceSamples(device), options.unit, random));
  }
  TwinAudit audit;
  audit.pairs = options.pairs;
  while (!stop()) {
    const JobState before = first.job().State();
    const std::optional<RoundOutcome> outcome = first.NextRound();
    if (!outcome) break;
    TwinRound round;
    round.rounds = first.job().round();
    for (const std::unique_ptr<Twin>& twin : twins) twin->Follow(first, before, &round);
    round.bound = 2 * outcome->clip_l2 * config.job.aggregation.server_learning_rate *
                  std::max(round.devices, 1U) / static_cast<double>(config.job.plan.cohort);
    const double rounding = Rounding(config, first.job().parameters(), outcome->noise_sigma);
    if (round.one_round > round.bound + rounding) {
      audit.violations.push_back(
          fmt::format("round {}: one device moved the release by {:.6g}, above the bound {:.6g}",
                      round.rounds, round.one_round, round.bound));
    }
    audit.rounds.push_back(round);
    on_round(round);
  }
  const std::string reason = first.job().finish_reason();
  audit.finish_reason = reason.empty() ? "stopped" : reason;
  return audit;
}

}  // namespace sotto::server
