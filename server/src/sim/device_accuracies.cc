#include "sim/device_accuracies.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <stdexcept>
#include <utility>

#include "base/parallel.h"
#include "sim/fleet.h"
#include "sotto/data/device_share.h"
#include "sotto/held_out.h"
#include "sotto/key_labels.h"
#include "sotto/model/model_file.h"
#include "sotto/personal.h"
#include "sotto/posix/check.h"
#include "sotto/posix/client_memory.h"
#include "sotto/posix/run_key.h"
#include "sotto/train.h"

namespace sotto::server {
namespace {

// Larger than any distance; in fixed point no parameter leaves the range of its format.
float NoBound(const ModelInfo& model) { return posix::IsFixedPoint(model) ? 0x1p19F : 0x1p100F; }

TrainingOptions LocalOptions(const ModelInfo& model, TrainingOptions options, uint32_t steps) {
  options.local_steps = steps;
  options.clipping = Clipping::kAtEnd;
  options.clip_by_layer = ClipByLayer::kNone;
  options.clip_l2 = NoBound(model);
  return options;
}

// The accuracies of one device.
struct Accuracies {
  bool are_there = false;  // it holds out a sample
  double global = 0;
  double personal = 0;
  double fine_tuned = 0;
};

AccuracySpread Of(const std::vector<Accuracies>& devices, double Accuracies::*figure) {
  std::vector<double> values;
  for (const Accuracies& device : devices) {
    if (device.are_there) values.push_back(device.*figure);
  }
  return AccuracySpreadOf(std::move(values));
}

}  // namespace

AccuracySpread AccuracySpreadOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  AccuracySpread result;
  for (const double value : values) result.mean += value;
  const auto n = static_cast<double>(values.size());
  result.mean /= n;
  for (size_t i = 0; i < AccuracySpread::kShares.size(); ++i) {
    const double rank = std::max(1.0, std::ceil(AccuracySpread::kShares[i] * n));
    result.quantiles[i] = values[static_cast<size_t>(rank) - 1];
  }
  return result;
}

// What one thread evaluates with.
class Fleet::Evaluator {
 public:
  Evaluator(const Fleet& fleet, Span<const float> shared, const TrainingOptions& options,
            uint32_t steps)
      : fleet_(fleet),
        model_(fleet.model_),
        shared_(shared),
        options_(LocalOptions(model_, options, steps)),
        memory_(model_, options.batch_size, 0, options.momentum > 0, options.gradient_clip > 0),
        scratch_(EvaluationFloats(model_)) {}

  Accuracies Of(uint32_t index) {
    DeviceShare share(fleet_.data_, fleet_.partition_.DeviceSamples(index),
                      fleet_.options_.held_out);
    Accuracies result;
    const SampleSource held_out = share.held_out_source();
    if (held_out.count == 0) return result;
    share.CopyGenerated(&samples_);
    result.are_there = true;
    Start();
    if (model_.personal > 0) {
      posix::Check(InitialPersonal(model_, Personal()), "the initial personal layers");
    }
    result.global = result.personal = result.fine_tuned = Accuracy(held_out);
    if (model_.personal > 0) {
      PersonalValues::Device own(*fleet_.personal_, index);
      bool is_kept = false;
      posix::Check(LoadPersonal(model_, own.store(), Personal(), &is_kept),
                   "a device's personal layers");
      result.personal = result.fine_tuned = Accuracy(held_out);
    }
    if (options_.local_steps == 0) return result;
    FineTune(index, share.source());
    result.fine_tuned = Accuracy(held_out);
    return result;
  }

 private:
  void Start() { std::copy(shared_.begin(), shared_.end(), memory_.buffers().update.begin()); }

  Span<float> Personal() { return memory_.buffers().update.subspan(model_.parameters); }

  // Of what lies in the update's memory.
  double Accuracy(const SampleSource& held_out) {
    uint32_t correct = 0;
    posix::Check(CountCorrect(model_, memory_.buffers().update, held_out, 0, held_out.count,
                              {scratch_.data(), scratch_.size()}, &correct),
                 "an evaluation");
    return static_cast<double>(correct) / static_cast<double>(held_out.count);
  }

  void FineTune(uint32_t index, const SampleSource& samples) {
    const ClientBuffers buffers = memory_.buffers();
    const Key key = posix::DeriveKey(fleet_.run_key_, key_label::kFineTune, index);
    LocalTrainer trainer;
    Status status = trainer.Begin(model_, options_, samples, key, shared_,
                                  {buffers.update, buffers.velocity, buffers.gradient},
                                  buffers.scratch, buffers.indices);
    for (bool done = false; status == Status::kOk && !done;) status = trainer.Step(&done);
    if (status == Status::kOk) return;
    throw std::runtime_error(fmt::format(
        "--fine-tune-steps {}: device {} failed: {}{}", options_.local_steps,
        fleet_.registry_[index].id, StatusName(status),
        status == Status::kNotFinite ? "; training diverged: lower the learning rate" : ""));
  }

  const Fleet& fleet_;
  const ModelInfo& model_;
  const Span<const float> shared_;
  const TrainingOptions options_;
  posix::ClientMemory memory_;
  std::vector<float> scratch_;
  std::vector<float> samples_;  // DeviceShare::CopyGenerated()
};

std::optional<DeviceAccuracies> Fleet::EvaluateDevices(Span<const float> shared,
                                                       const TrainingOptions& options,
                                                       uint32_t fine_tune_steps,
                                                       int threads) const {
  std::vector<Accuracies> all(registry_.size());
  const int workers = std::max(1, std::min(threads, static_cast<int>(all.size())));
  std::vector<std::unique_ptr<Evaluator>> pool;
  for (int i = 0; i < workers; ++i) {
    pool.push_back(std::make_unique<Evaluator>(*this, shared, options, fine_tune_steps));
  }
  ParallelFor(workers, all.size(), [&](size_t i, int worker) {
    all[i] = pool[static_cast<size_t>(worker)]->Of(static_cast<uint32_t>(i));
  });
  DeviceAccuracies result;
  for (const Accuracies& device : all) result.devices += device.are_there ? 1 : 0;
  if (result.devices == 0) return std::nullopt;
  result.global = Of(all, &Accuracies::global);
  if (model_.personal > 0) result.personal = Of(all, &Accuracies::personal);
  result.fine_tune_steps = fine_tune_steps;
  if (fine_tune_steps > 0) result.fine_tuned = Of(all, &Accuracies::fine_tuned);
  return result;
}

}  // namespace sotto::server
