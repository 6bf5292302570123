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
  if (status == Status::kNotFinite) what = "a feature or an output is not a finite number";
  throw std::invalid_argument(
      fmt::format("{}: sample {}: {} (model {})", data.name(), index + 1, what, model.name));
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

std::vector<float> PredictAll(const Predictor& predictor, const Dataset& data, int threads) {
  const ModelInfo& model = predictor.model();
  std::vector<float> all(data.size() * model.outputs);
  const size_t tasks = (data.size() + kSamplesPerTask - 1) / kSamplesPerTask;
  ParallelFor(threads, tasks, [&](size_t task, int) {
    const size_t end = std::min((task + 1) * kSamplesPerTask, data.size());
    std::vector<float> features(model.inputs);
    std::vector<float> scratch;
    for (size_t i = task * kSamplesPerTask; i < end; ++i) {
      data.CopyFeatures(i, {features.data(), features.size()});
      const Span<float> outputs(all.data() + i * model.outputs, model.outputs);
      const Status status = predictor.Run({features.data(), features.size()}, &scratch, outputs);
      if (status != Status::kOk) Refuse(model, data, i, status);
    }
  });
  return all;
}

}  // namespace sotto::server
