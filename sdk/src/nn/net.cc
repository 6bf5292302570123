// Training and prediction of any net of layers: the functions of ModelInfo.
#include "nn/cross_entropy.h"
#include "nn/kernels.h"
#include "nn/walker.h"
#include "sotto/net_memory.h"
#include "sotto/nn.h"

namespace sotto::nn::internal {

namespace {

// Whether all are whole numbers below `tokens`. NaN is none.
bool AreTokens(Span<const float> features, uint32_t tokens) {
  for (const float feature : features) {
    const bool is_in_range = feature >= 0.0f && feature < static_cast<float>(tokens);
    if (!is_in_range || static_cast<float>(static_cast<uint32_t>(feature)) != feature) return false;
  }
  return true;
}

}  // namespace

size_t NetTrainingFloats(const ModelInfo& model, uint32_t batch_size) {
  return NetMemory(model.layers, batch_size);
}

Status NetTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                     float weight_decay, WorkingParameters working, Span<float> scratch,
                     float* loss) {
  const size_t size = batch.indices.size();
  if (size == 0) return Status::kInvalidArgument;
  if (scratch.size() < NetMemory(model.layers, size)) return Status::kBufferTooSmall;
  Walker walker(model.layers, working.memory.data(), scratch.data(), size);
  const SampleSource& source = *batch.source;
  float sum = 0.0f;
  walker.BeginBatch();
  for (const uint32_t index : batch.indices) {
    uint32_t label = 0;
    if (Status s = source.read(source.context, index, walker.input(), &label); s != Status::kOk) {
      return s;
    }
    if (label >= model.classes) return Status::kOutOfRange;
    const uint32_t tokens = model.layers[0].tokens;
    if (tokens > 0 && !AreTokens(walker.input(), tokens)) return Status::kOutOfRange;
    walker.Forward();
    sum += SoftmaxErrors(walker.output(), label);
    walker.Backward();
  }
  const auto n = static_cast<float>(size);
  *loss = sum / n;
  walker.Step(1.0f - learning_rate * weight_decay, -learning_rate / n, working.memory.data());
  return Status::kOk;
}

size_t NetPredictFloats(const ModelInfo& model) { return NetMemory(model.layers, 0); }

void NetPredict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                Span<float> scratch, Span<float> scores) {
  Walker walker(model.layers, parameters.data(), scratch.data(), 0);
  Copy(features.data(), features.size(), walker.input().data());
  walker.Forward();
  Copy(walker.output().data(), scores.size(), scores.data());
}

}  // namespace sotto::nn::internal
