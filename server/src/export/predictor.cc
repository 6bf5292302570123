#include "export/predictor.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "base/parallel.h"
#include "sotto/model/model_file.h"
#include "sotto/predict.h"

namespace sotto::server {
namespace {

constexpr size_t kSamplesPerTask = 500;

[[noreturn]] void Refuse(const ModelInfo& model, const Dataset& data, size_t index, Status status) {
  const char* what = "its outputs overflow: the training diverged";
  if (status == Status::kOutOfRange) what = "it has a number that is no token of the vocabulary";
  if (status == Status::kNotFinite)
    what = "a feature, a target, an output or its error is not a finite number";
  throw std::invalid_argument(
      fmt::format("{}: sample {}: {} (model {})", data.name(), index + 1, what, model.name));
}

// run(index, features, scratch) for all samples, from several threads.
template <class Run>
void ForEachSample(const ModelInfo& model, const Dataset& data, int threads, Run run) {
  const size_t tasks = (data.size() + kSamplesPerTask - 1) / kSamplesPerTask;
  ParallelFor(threads, tasks, [&](size_t task, int) {
    const size_t end = std::min((task + 1) * kSamplesPerTask, data.size());
    std::vector<float> features(model.inputs);
    std::vector<float> scratch;
    for (size_t i = task * kSamplesPerTask; i < end; ++i) {
      data.CopyFeatures(i, {features.data(), features.size()});
      const Status status = run(i, Span<const float>(features.data(), features.size()), &scratch);
      if (status != Status::kOk) Refuse(model, data, i, status);
    }
  });
}

}  // namespace

Predictor::Predictor(const ModelInfo& model, Span<const float> parameters) : model_(model) {
  const bool is_fixed = posix::IsFixedPoint(model);
  const auto arithmetic = is_fixed ? nn::Arithmetic::kFixedPoint : nn::Arithmetic::kFloat32;
  for (const nn::LayerPlan& layer : model.layers) {
    layers_.push_back(nn::internal::ForwardPlan(layer, arithmetic));
  }
  model_.layers = {layers_.data(), layers_.size()};
  model_.predict_floats = nn::internal::NetPredictFloats;
  model_.predict = is_fixed ? nullptr : nn::internal::NetPredict;
  if (!is_fixed) {
    parameters_.assign(parameters.begin(), parameters.end());
    return;
  }
  for (const float value : parameters) raw_.push_back(FixedParameter::FromFloat(value).raw());
}

Status Predictor::Run(Span<const float> features, std::vector<float>* scratch,
                      Span<float> outputs) const {
  scratch->resize(PredictFloats(model_));
  const Span<float> memory(scratch->data(), scratch->size());
  if (model_.predict == nullptr) {
    return Predict(model_, Span<const int32_t>(raw_.data(), raw_.size()), features, memory,
                   outputs);
  }
  return Predict(model_, Span<const float>(parameters_.data(), parameters_.size()), features,
                 memory, outputs);
}

Status Predictor::Error(Span<const float> features, Span<const float> target,
                        std::vector<float>* scratch, Span<float> outputs, float* error) const {
  scratch->resize(PredictFloats(model_));
  const Span<float> memory(scratch->data(), scratch->size());
  if (model_.predict == nullptr) {
    return PredictionError(model_, Span<const int32_t>(raw_.data(), raw_.size()), features, target,
                           memory, outputs, error);
  }
  return PredictionError(model_, Span<const float>(parameters_.data(), parameters_.size()),
                         features, target, memory, outputs, error);
}

std::vector<float> PredictAll(const Predictor& predictor, const Dataset& data, int threads) {
  const uint32_t outputs = predictor.model().outputs;
  std::vector<float> all(data.size() * outputs);
  ForEachSample(predictor.model(), data, threads,
                [&](size_t i, Span<const float> features, std::vector<float>* scratch) {
                  return predictor.Run(features, scratch, {all.data() + i * outputs, outputs});
                });
  return all;
}

bool HasErrors(const ModelInfo& model) {
  return model.loss.kind == nn::LossKind::kMeanSquaredError;
}

PredictionErrors ErrorsOfAll(const Predictor& predictor, const Dataset& data, int threads) {
  const ModelInfo& model = predictor.model();
  const size_t targets = model.loss.target == nn::TargetKind::kVector ? model.outputs : 0;
  PredictionErrors all;
  all.outputs.resize(data.size() * model.outputs);
  all.errors.resize(data.size());
  ForEachSample(model, data, threads,
                [&](size_t i, Span<const float> features, std::vector<float>* scratch) {
                  std::vector<float> target(targets);
                  if (targets > 0) data.CopyTarget(i, {target.data(), targets});
                  const Span<float> outputs(all.outputs.data() + i * model.outputs, model.outputs);
                  return predictor.Error(features, {target.data(), targets}, scratch, outputs,
                                         &all.errors[i]);
                });
  return all;
}

}  // namespace sotto::server
