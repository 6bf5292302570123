// Training and prediction of any net of layers in float32: functions of ModelInfo.
#include "base/exact_arithmetic.h"
#include "nn/float_net.h"
#include "nn/kernels.h"
#include "nn/net_batch.h"

namespace sotto::nn::internal {

size_t NetTrainingFloats(const ModelInfo& model, uint32_t batch_size) {
  return TrainingMemory(model.layers, model.loss, batch_size);
}

Status NetTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                     const WorkingParameters& working, Span<float> scratch, float* loss) {
  return TrainNetBatch(model, batch, step, working, scratch, loss, FloatNet{});
}

size_t NetPredictFloats(const ModelInfo& model) { return NetMemory(model.layers, 0); }

void NetPredict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                Span<float> scratch, Span<float> outputs) {
  Walker walker(model.layers, parameters.data(), scratch.data(), 0);
  if (features.data() != walker.input().data()) {
    Copy(features.data(), features.size(), walker.input().data());
  }
  Prepare(model.preparation, walker.input().data());
  walker.Forward();
  Copy(walker.output().data(), outputs.size(), outputs.data());
}

}  // namespace sotto::nn::internal
