// Training and prediction of any net of layers: the functions of ModelInfo.
#include "nn/kernels.h"
#include "nn/momentum.h"
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
  return TrainingMemory(model.layers, model.loss, batch_size);
}

namespace {

// Reads a sample into the walker's input.
//   vector  [outputs] memory for a target of kVector
Status ReadSample(const ModelInfo& model, const Batch& batch, uint32_t index, const Walker& walker,
                  float* vector, Target* target) {
  const SampleSource& source = *batch.source;
  const Span<float> features = walker.input();
  if (model.loss.target == TargetKind::kVector) {
    target->vector = vector;
    return source.read_vector(source.context, index, features, {vector, model.outputs});
  }
  target->vector = features.data();  // of an autoencoder
  const Status status = source.read(source.context, index, features, &target->label);
  if (status != Status::kOk) return status;
  if (model.classes > 0 && target->label >= model.classes) return Status::kOutOfRange;
  const uint32_t tokens = model.layers[0].tokens;
  return tokens > 0 && !AreTokens(features, tokens) ? Status::kOutOfRange : Status::kOk;
}

//   size  samples of the batch
void Step(const Walker& walker, const SgdStep& step, float size, WorkingParameters working) {
  if (step.momentum == 0.0f) {
    const float decay = 1.0f - step.learning_rate * step.weight_decay;
    walker.Step(decay, -step.learning_rate / size, working.memory.data());
    return;
  }
  SlowVelocity(step, working);
  walker.Step(1.0f, 1.0f / size, working.velocity.data());
  MoveByVelocity(step.learning_rate, working);
}

}  // namespace

Status NetTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                     WorkingParameters working, Span<float> scratch, float* loss) {
  const size_t size = batch.indices.size();
  if (size == 0) return Status::kInvalidArgument;
  if (scratch.size() < TrainingMemory(model.layers, model.loss, size)) {
    return Status::kBufferTooSmall;
  }
  Walker walker(model.layers, working.memory.data(), scratch.data(), size);
  float* const vector = scratch.data() + NetMemory(model.layers, size);
  float sum = 0.0f;
  walker.BeginBatch();
  for (const uint32_t index : batch.indices) {
    Target target;
    if (Status s = ReadSample(model, batch, index, walker, vector, &target); s != Status::kOk) {
      return s;
    }
    walker.Forward();
    sum += model.loss.errors(walker.output(), target);
    walker.Backward();
  }
  const auto n = static_cast<float>(size);
  *loss = sum / n;
  Step(walker, step, n, working);
  return Status::kOk;
}

size_t NetPredictFloats(const ModelInfo& model) { return NetMemory(model.layers, 0); }

void NetPredict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                Span<float> scratch, Span<float> outputs) {
  Walker walker(model.layers, parameters.data(), scratch.data(), 0);
  Copy(features.data(), features.size(), walker.input().data());
  walker.Forward();
  Copy(walker.output().data(), outputs.size(), outputs.data());
}

}  // namespace sotto::nn::internal
