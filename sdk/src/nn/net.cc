// Training and prediction of any net of layers in float32: functions of ModelInfo.
#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "nn/momentum.h"
#include "nn/net_batch.h"
#include "nn/tokens.h"

namespace sotto::nn::internal {

namespace {

struct FloatNet : FloatArithmetic {
  static constexpr bool kHasGradientOptions = true;
  static bool CanStep(const SgdStep&, size_t) { return true; }
  static Status Prepare(const ModelInfo& model, Span<const float> sample) {
    const uint32_t tokens = model.layers[0].tokens;
    return tokens > 0 && !AreTokens(sample, tokens) ? Status::kOutOfRange : Status::kOk;
  }
  static Status PrepareTarget(Span<float>) { return Status::kOk; }
  static float Errors(const LossPlan& loss, Span<float> outputs, const Target& target) {
    return loss.errors(outputs, target);
  }
  static void Shrink(const SgdStep& step, const WorkingParameters& working) {
    nn::Shrink(step, working);
  }
  static void Slow(const SgdStep& step, const WorkingParameters& working) {
    SlowVelocity(step, working);
  }
  static void MoveByVelocity(float rate, const WorkingParameters& working) {
    nn::MoveByVelocity(rate, working);
  }
  static bool* saturated() { return nullptr; }
};

}  // namespace

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
  Prepare(model.preparation, model.layers[0].info.input, walker.input());
  walker.Forward();
  Copy(walker.output().data(), outputs.size(), outputs.data());
}

}  // namespace sotto::nn::internal
