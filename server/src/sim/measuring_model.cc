#include "sim/measuring_model.h"

#include <algorithm>
#include <utility>

#include "evaluation/error_histogram.h"

namespace sotto::server {
namespace {

Status BeginWithZeros(Span<const float>, const WorkingParameters& working) {
  std::fill(working.memory.begin(), working.memory.end(), 0.0F);
  return Status::kOk;
}

void AddBase(Span<const float> base, const WorkingParameters& working) {
  for (size_t i = 0; i < base.size(); ++i) working.memory[i] += base[i];
}

// The encoder clips, as it does every update.
Status ProjectNothing(Span<const float>, float, const WorkingParameters&, bool* was_outside) {
  *was_outside = false;
  return Status::kOk;
}

}  // namespace

MeasuringModel::MeasuringModel(const ModelInfo& model, Span<const float> weights,
                               std::vector<float> edges, float clip_l2)
    : ModelInfo(model), predictor_(model, weights), edges_(std::move(edges)), clip_l2_(clip_l2) {
  begin_training = BeginWithZeros;
  end_training = AddBase;
  project = ProjectNothing;
  train_batch = TrainBatch;
}

// The first step measures all samples, however many steps there are and whatever they draw.
Status MeasuringModel::TrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep&,
                                  const WorkingParameters& working, Span<float>, float* loss) {
  const auto& self = static_cast<const MeasuringModel&>(model);
  const Span<float> histogram = working.memory.first(self.edges_.size() + 1);
  *loss = 0;
  const bool is_measured =
      std::any_of(histogram.begin(), histogram.end(), [](float value) { return value != 0; });
  return is_measured ? Status::kOk : self.Measure(*batch.source, histogram);
}

Status MeasuringModel::Measure(const SampleSource& samples, Span<float> histogram) const {
  const bool has_targets = loss.target == nn::TargetKind::kVector;
  std::vector<float> features(inputs);
  std::vector<float> target(has_targets ? outputs : 0);
  std::vector<float> predicted(outputs);
  std::vector<float> scratch;
  std::vector<uint32_t> counts(histogram.size());
  const Span<float> sample(features.data(), features.size());
  const Span<float> wanted(target.data(), target.size());
  for (uint32_t i = 0; i < samples.count; ++i) {
    uint32_t label = 0;
    const Status read = has_targets ? samples.read_vector(samples.context, i, sample, wanted)
                                    : samples.read(samples.context, i, sample, &label);
    if (read != Status::kOk) return read;
    float error = 0;
    const Status status =
        predictor_.Error(sample, wanted, &scratch, {predicted.data(), predicted.size()}, &error);
    if (status != Status::kOk && status != Status::kNotFinite) return status;
    // An error that is too large for a float32 exceeds every edge.
    ++counts[status == Status::kOk ? BinOf(error, edges_) : edges_.size()];
  }
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    histogram[bin] = clip_l2_ * static_cast<float>(counts[bin]) / static_cast<float>(samples.count);
  }
  return Status::kOk;
}

}  // namespace sotto::server
