#include <cmath>

#include "base/exact_arithmetic.h"
#include "nn/gradient_norm.h"
#include "nn/kernels.h"
#include "nn/momentum.h"
#include "nn/softmax_batch.h"
#include "sotto/bytes.h"
#include "sotto/loss.h"
#include "sotto/nn.h"
#include "sotto/num.h"

namespace sotto {
namespace nn {
namespace {

struct Float32Arithmetic {
  using LossSum = float;
  using Rate = float;
  static constexpr bool kHasGradientOptions = true;

  static Status PrepareForScores(Span<float>) { return Status::kOk; }
  static Status PrepareForUpdate(Span<float>, bool*) { return Status::kOk; }
  static LossSum Errors(const ModelInfo& model, const WorkingParameters& working,
                        Span<const float> features, uint32_t label, Span<float> errors) {
    internal::SoftmaxPredict(model, working.memory, features, {}, errors);
    return internal::SoftmaxErrors(errors, {label, nullptr});
  }
  static float MeanLoss(LossSum sum, size_t n) { return sum / static_cast<float>(n); }
  static Status MakeRate(float rate, Rate* out) {
    *out = rate;
    return Status::kOk;
  }
  static void Shrink(const SgdStep& step, const WorkingParameters& working) {
    nn::Shrink(step, working);
  }
  static Status ClipErrors(float most, Span<const float> features, Span<float> errors) {
    GradientNorm norm;
    norm.AddOuterProduct(errors.data(), errors.size(), features.data(), features.size());
    float factor = 0.0f;
    if (Status s = norm.FactorFor(most, &factor); s != Status::kOk) return s;
    Scale(factor, errors.size(), errors.data());
    return Status::kOk;
  }
  static Status AddClipped(float most, float factor, Span<const float> gradient, Span<float> sum) {
    GradientNorm norm;
    norm.Add(gradient.data(), gradient.size());
    float clip = 0.0f;
    if (Status s = norm.FactorFor(most, &clip); s != Status::kOk) return s;
    AddScaled(factor * clip, gradient.data(), gradient.size(), sum.data());
    return Status::kOk;
  }
  static void AddErrors(const ModelInfo& model, Rate rate, Span<const float> errors,
                        Span<const float> features, Span<float> sum, bool*) {
    const size_t n = features.size();
    float* bias = sum.data() + n * model.classes;
    size_t o = 0;
    for (; o + 2 <= model.classes; o += 2) {
      const float scales[] = {rate * errors[o], rate * errors[o + 1]};
      float* row = sum.data() + o * n;
      AddScaledToTwo(scales[0], scales[1], features.data(), n, row, row + n);
      bias[o] += scales[0];
      bias[o + 1] += scales[1];
    }
    if (o < model.classes) {
      const float scale = rate * errors[o];
      AddScaled(scale, features.data(), n, sum.data() + o * n);
      bias[o] += scale;
    }
  }
  static void Slow(const SgdStep& step, const WorkingParameters& working) {
    SlowVelocity(step, working);
  }
  static void Move(float rate, const WorkingParameters& working) { MoveByVelocity(rate, working); }
};

}  // namespace

namespace internal {

size_t SoftmaxTrainingFloats(const ModelInfo& model, uint32_t batch_size) {
  return TrainingMemory(model.layers, model.loss, batch_size);
}

size_t SoftmaxPredictFloats(const ModelInfo&) { return 0; }

void SoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                    Span<const float> features, Span<float>, Span<float> scores) {
  const size_t n = features.size();
  const float* bias = parameters.data() + n * model.classes;
  nn::DenseForward(parameters.data(), bias, features.data(), n, model.classes, scores.data());
}

Status FloatTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                       const WorkingParameters& working, Span<float> scratch, float* loss) {
  return TrainSoftmaxBatch<Float32Arithmetic>(model, batch, step, working, scratch, loss);
}

Status FloatBegin(Span<const float> base, const WorkingParameters& working) {
  __builtin_memcpy(working.memory.data(), base.data(), base.size() * sizeof(float));
  for (float& v : working.velocity) v = 0.0f;
  return Status::kOk;
}

Status FloatProject(Span<const float> base, float radius, const WorkingParameters& working,
                    bool* was_outside) {
  const float squared = SquaredDistance(working.memory.data(), base.data(), base.size());
  if (!IsFinite(squared)) return Status::kNotFinite;
  const float distance = std::sqrt(squared);
  *was_outside = distance > radius;
  if (*was_outside) {
    PullTowards(base.data(), radius / distance, base.size(), working.memory.data());
  }
  return Status::kOk;
}

void FloatEnd(Span<const float>, const WorkingParameters&) {}

}  // namespace internal
}  // namespace nn

}  // namespace sotto
