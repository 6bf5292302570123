#include "audit/canary.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <stdexcept>

#include "aggregate/methods.h"
#include "audit/audited_device.h"
#include "audit/hostile_training.h"
#include "base/parallel.h"
#include "round/attempt.h"
#include "round/cohort.h"
#include "round/release.h"
#include "sotto/key_labels.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

constexpr uint32_t kCanary = 0;           // its index in the registry
constexpr uint32_t kRepeatsAtOnce = 250;  // of one thread, with the same memory
constexpr uint32_t kBlocks = 20;          // after each of which progress is told

// One of the two neighbouring fleets.
struct Side {
  bool has_canary = true;
  ModelInfo canary;  // how it trains
  Key key;
  DeviceRegistry registry;
  uint8_t job = 0;  // the first byte of its job ids
};

void Prepare(const JobConfig& config, const Key& key, uint8_t job, Side* side) {
  side->job = job;
  side->key = posix::DeriveKey(key, key_label::kServer, job);
  for (uint32_t i = 0; i < config.plan.devices; ++i) {
    side->registry.Register(
        {fmt::format("audit-{:06}", i), posix::DeriveKey(side->key, key_label::kDevice, i)});
  }
}

class Canary {
 public:
  Canary(const JobConfig& config, CanaryView view, const Key& key)
      : config_(config), view_(view), estimator_(MakeEstimator(config.aggregation)) {
    config_.process.threads = 1;  // repeats run in parallel, each in one thread
    const bool is_replaced =
        view == CanaryView::kOneUpdate ||
        privacy::PairedAdjacency(config.plan.sampling) == privacy::Adjacency::kReplaceOne;
    with_.canary = HostileTraining<1>::Of(*config.model);
    without_.canary = HostileTraining<-1>::Of(*config.model);
    without_.has_canary = is_replaced;
    Prepare(config, key, 1, &with_);
    Prepare(config, key, 0, &without_);
  }

  struct Counts {
    uint64_t drawn = 0;
    uint64_t refused = 0;
  };

  // The number of one repeat.
  double Repeat(bool with, uint32_t repeat, AuditedDevice& device, Counts* counts) const {
    const Side& side = with ? with_ : without_;
    return view_ == CanaryView::kOneUpdate ? OneUpdate(side, repeat, device, counts)
                                           : Releases(side, repeat, device, counts);
  }

 private:
  double Releases(const Side& side, uint32_t repeat, AuditedDevice& device, Counts* counts) const {
    const std::unique_ptr<Optimiser> optimiser = MakeOptimiser(config_.aggregation);
    std::vector<float> parameters(config_.model->parameters);
    if (!config_.initial_parameters.empty()) parameters = config_.initial_parameters;
    float clip_l2 = config_.training.clip_l2;
    double moved = 0;
    for (uint32_t round = 0; round < config_.plan.rounds; ++round) {
      const TrainTask task = Task(side, round, clip_l2, repeat);
      ReleaseResult release =
          MakeRelease(config_, config_.plan, task,
                      Collect(side, task, Draw(side, task), parameters, device, counts), side.key,
                      {parameters.data(), parameters.size()}, *estimator_, *optimiser);
      const bool counts_round = !is_passes() || CanaryTakesTurn(config_.plan, round);
      if (counts_round) moved += Along(release.parameters) - Along(parameters);
      parameters = std::move(release.parameters);
      if (config_.clip_schedule) clip_l2 = static_cast<float>(release.next_clip_l2);
    }
    return moved * static_cast<double>(config_.plan.cohort) /
           (config_.plan.Sensitivity() * config_.aggregation.server_learning_rate);
  }

  double OneUpdate(const Side& side, uint32_t repeat, AuditedDevice& device, Counts* counts) const {
    const TrainTask task = Task(side, 0, config_.training.clip_l2, repeat);
    const std::vector<float> parameters(config_.model->parameters);
    const PartialSum seen = Collect(side, task, {kCanary}, parameters, device, counts);
    return Along(seen.sums) * config_.codec->make(task)->SumUnit() /
           (privacy::SensitivityFactor(privacy::Adjacency::kReplaceOne) * config_.plan.clip_l2);
  }

  // The attempt's number is the repeat's: all keys of a repeat are its own.
  TrainTask Task(const Side& side, uint32_t round, float clip_l2, uint32_t repeat) const {
    TrainTask task = config_.TaskFor(round, clip_l2);
    task.job_id[0] = side.job;
    task.attempt = repeat;
    return task;
  }

  bool is_passes() const { return config_.plan.sampling == privacy::Sampling::kPasses; }

  // The cohort of a job of passes: consecutive devices, the canary first or left out.
  std::vector<uint32_t> KnownCohort(uint32_t round) const {
    std::vector<uint32_t> cohort(static_cast<size_t>(config_.plan.cohort));
    std::iota(cohort.begin(), cohort.end(),
              CanaryTakesTurn(config_.plan, round) ? kCanary : kCanary + 1);
    return cohort;
  }

  std::vector<uint32_t> Draw(const Side& side, const TrainTask& task) const {
    if (is_passes()) return KnownCohort(task.round);
    for (uint32_t again = 0;; ++again) {
      RandomStream random(
          posix::DeriveKey(side.key, key_label::kCohort, task.round, task.attempt, again), 0);
      std::vector<uint32_t> cohort = DrawCohort(config_.plan.sampling, side.registry.size(),
                                                static_cast<uint32_t>(config_.plan.cohort), random);
      if (cohort.size() <= static_cast<size_t>(config_.plan.planned_reports)) return cohort;
    }
  }

  PartialSum Collect(const Side& side, const TrainTask& task, const std::vector<uint32_t>& cohort,
                     const std::vector<float>& parameters, AuditedDevice& device,
                     Counts* counts) const {
    ModelCodes codes({std::shared_ptr<void>(), config_.model}, {});  // nothing is downloaded
    Attempt attempt(config_, Unowned(side.registry), task, cohort, codes);
    if (side.has_canary && !cohort.empty() && cohort.front() == kCanary) {
      ++counts->drawn;
      const Device& identity = side.registry[kCanary];
      const bool taken = device.Train(identity, side.canary, task,
                                      {parameters.data(), parameters.size()}) == Status::kOk &&
                         device.Upload(kCanary, task, *config_.codec, attempt);
      counts->refused += taken ? 0 : 1;
    }
    PartialSum seen = attempt.Close();
    if (config_.plan.sampling == privacy::Sampling::kUniform) AddOthers(cohort, task, &seen);
    return seen;
  }

  // The updates of all but the canary, at the far corner.
  void AddOthers(const std::vector<uint32_t>& cohort, const TrainTask& task,
                 PartialSum* seen) const {
    const bool has_canary = !cohort.empty() && cohort.front() == kCanary;
    const auto others = static_cast<double>(cohort.size() - (has_canary ? 1 : 0));
    const double length =
        others * static_cast<double>(task.training.clip_l2) / config_.codec->make(task)->SumUnit();
    for (size_t j = 0; j < config_.model->parameters; ++j) {
      seen->sums[j] -=
          std::llround(length * static_cast<double>(CanaryDirection(j, config_.model->parameters)));
    }
  }

  // The part along the canary's direction of the model's coordinates.
  template <class Values>
  double Along(const Values& values) const {
    double sum = 0;
    for (size_t j = 0; j < config_.model->parameters; ++j) {
      sum += static_cast<double>(CanaryDirection(j, config_.model->parameters)) *
             static_cast<double>(values[j]);
    }
    return sum;
  }

  JobConfig config_;
  const CanaryView view_;
  const std::unique_ptr<const Estimator> estimator_;
  Side with_;
  Side without_;
};

}  // namespace

bool CanaryTakesTurn(const privacy::Plan& plan, int64_t round) {
  return round >= plan.rounds - plan.ChargedRounds(plan.rounds);
}

CanaryReleases DrawReleases(const JobConfig& config, CanaryView view, const Key& key,
                            uint32_t repeats, int threads,
                            const std::function<void(double)>& done) {
  const Canary canary(config, view, key);
  CanaryReleases releases;
  releases.with.resize(repeats);
  releases.without.resize(repeats);
  std::vector<std::unique_ptr<AuditedDevice>> devices;
  for (int i = 0; i < threads; ++i) devices.push_back(std::make_unique<AuditedDevice>(config));
  std::vector<Canary::Counts> counts(static_cast<size_t>(threads));
  for (uint32_t block = 0; block < kBlocks; ++block) {
    const auto first = static_cast<uint32_t>(uint64_t{repeats} * block / kBlocks);
    const auto end = static_cast<uint32_t>(uint64_t{repeats} * (block + 1) / kBlocks);
    const size_t pieces = (end - first + kRepeatsAtOnce - 1) / kRepeatsAtOnce;
    ParallelFor(threads, pieces, [&](size_t piece, int worker) {
      const auto w = static_cast<size_t>(worker);
      const uint32_t from = first + static_cast<uint32_t>(piece) * kRepeatsAtOnce;
      for (uint32_t i = from; i < std::min(from + kRepeatsAtOnce, end); ++i) {
        releases.with[i] = canary.Repeat(true, i, *devices[w], &counts[w]);
        releases.without[i] = canary.Repeat(false, i, *devices[w], &counts[w]);
      }
    });
    done((block + 1.0) / kBlocks);
  }
  for (const Canary::Counts& each : counts) {
    releases.drawn += each.drawn;
    releases.refused += each.refused;
  }
  return releases;
}

}  // namespace sotto::server
