// Training and prediction of any net of layers in fixed point: functions of ModelInfo.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "nn/net_batch.h"

namespace sotto::nn::internal {

namespace {

bool IsAtEnd(int32_t raw) { return raw == INT32_MIN || raw == INT32_MAX; }

class FixedNet {
 public:
  static constexpr bool kHasGradientOptions = false;

  explicit FixedNet(bool* saturated) : saturated_(saturated) {}

  bool* saturated() const { return saturated_; }

  void Move(float decay, float rate, const float* gradient, size_t n, float* y) const {
    if (decay != 1.0f) FixedScale(Error::FromFloat(decay), n, y);
    *saturated_ |= FixedStep(Rate::FromFloat(rate), gradient, Gradient::kFractionBits, n, y);
  }
  void AddOuterProduct(const float* deltas, size_t rows, const float* inputs, size_t n,
                       float* gradient) const {
    *saturated_ |= FixedAddOuterProduct(deltas, rows, inputs, n, gradient);
  }
  void AddDeltas(const float* deltas, size_t n, float* gradient) const {
    *saturated_ |= FixedAddDeltas(deltas, n, gradient);
  }

  static bool CanStep(const SgdStep& step, size_t size) {
    constexpr float kLimit = 8.0f;  // of Rate
    if (step.momentum == 0.0f) return step.learning_rate < kLimit * static_cast<float>(size);
    return step.learning_rate < kLimit && step.weight_decay < kLimit;
  }
  Status Prepare(const ModelInfo&, Span<float> sample) const { return PrepareTarget(sample); }
  Status PrepareTarget(Span<float> vector) const {
    return ConvertFromFloats<Activation>(vector.size(), vector.data(), saturated_)
               ? Status::kOk
               : Status::kNotFinite;
  }
  float Errors(const LossPlan& loss, Span<float> outputs, const Target& target) const {
    const float value = loss.errors(outputs, target);
    for (const float& delta : outputs) *saturated_ |= IsAtEnd(LoadRaw(&delta));
    return value;
  }

  // A velocity is in the format of a parameter.
  void Slow(const SgdStep& step, const WorkingParameters& working) const {
    const Span<float> v = working.velocity;
    FixedScale(Error::FromFloat(step.momentum), v.size(), v.data());
    if (step.weight_decay != 0.0f) MoveBy(step.weight_decay, working.memory, v);
  }
  void MoveByVelocity(float rate, const WorkingParameters& working) const {
    MoveBy(-rate, working.velocity, working.memory);
  }

 private:
  void MoveBy(float rate, Span<const float> x, Span<float> y) const {
    *saturated_ |=
        FixedStep(Rate::FromFloat(rate), x.data(), Weight::kFractionBits, y.size(), y.data());
  }

  bool* saturated_;
};

}  // namespace

Status FixedNetTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                          const WorkingParameters& working, Span<float> scratch, float* loss) {
  bool ignored = false;
  const FixedNet arithmetic(working.saturated == nullptr ? &ignored : working.saturated);
  return TrainNetBatch(model, batch, step, working, scratch, loss, arithmetic);
}

// A net's memory, and the parameters in fixed point.
size_t FixedNetPredictFloats(const ModelInfo& model) {
  return model.parameters + NetMemory(model.layers, 0);
}

void FixedNetPredict(const ModelInfo& model, Span<const float> parameters,
                     Span<const float> features, Span<float> scratch, Span<float> outputs) {
  // The net's memory comes first, since the features may lie there.
  float* const weights = scratch.data() + NetMemory(model.layers, 0);
  for (size_t i = 0; i < parameters.size(); ++i) {
    StoreRaw(Weight::FromFloat(parameters[i]).raw(), &weights[i]);
  }
  bool saturated = false;
  Walker walker(model.layers, weights, scratch.data(), 0, &saturated);
  const Span<float> sample = walker.input();
  if (features.data() != sample.data()) Copy(features.data(), features.size(), sample.data());
  Prepare(model.preparation, sample.data());
  for (float& feature : sample) StoreRaw(Activation::FromFloat(feature).raw(), &feature);
  walker.Forward();
  const Span<const float> scores = walker.output();
  for (size_t k = 0; k < outputs.size(); ++k) {
    outputs[k] = Activation::FromRaw(LoadRaw(&scores[k])).ToFloat();
  }
}

}  // namespace sotto::nn::internal
