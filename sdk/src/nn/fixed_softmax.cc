#include "base/exact_arithmetic.h"
#include "nn/fixed_kernels.h"
#include "nn/softmax_batch.h"
#include "sotto/nn.h"

namespace sotto::nn {
namespace {

struct FixedPointArithmetic {
  using LossSum = int64_t;  // in units of 2^-24
  using Rate = nn::Rate;
  static constexpr bool kHasGradientOptions = false;

  static Status PrepareForScores(Span<float> features) {
    return ConvertFromFloats<Feature>(features.size(), features.data()) ? Status::kOk
                                                                        : Status::kNotFinite;
  }
  static Status PrepareForUpdate(Span<float> features, bool* saturated) {
    return ConvertFromFloats<FineFeature>(features.size(), features.data(), saturated)
               ? Status::kOk
               : Status::kNotFinite;
  }
  static LossSum Errors(const ModelInfo& model, const WorkingParameters& working,
                        Span<const float> features, uint32_t label, Span<float> errors) {
    const float* bias = working.memory.data() + features.size() * model.classes;
    FixedDenseForward(working.memory.data(), bias, features.data(), features.size(), model.classes,
                      errors.data());
    return FixedSoftmaxErrors(errors, label);
  }
  static float MeanLoss(LossSum sum, size_t n) {
    return static_cast<float>(sum) * 0x1p-24f / static_cast<float>(n);
  }
  static Status MakeRate(float rate, Rate* out) {
    if (!(rate > -8.0f)) return Status::kInvalidArgument;
    *out = Rate::FromFloat(rate);
    return Status::kOk;
  }
  static void Shrink(const SgdStep& step, const WorkingParameters& working) {
    const float factor = 1.0f - step.learning_rate * step.weight_decay;
    FixedScale(Error::FromFloat(factor), working.memory.size(), working.memory.data());
  }
  static void AddErrors(const ModelInfo& model, Rate rate, Span<const float> errors,
                        Span<const float> features, Span<float> sum, bool* saturated) {
    const size_t n = features.size();
    for (size_t o = 0; o < model.classes; ++o) {
      const auto scale = Multiply<Rate>(rate, Error::FromRaw(LoadRaw(&errors[o])));
      *saturated |= FixedAddScaled(scale, features.data(), n, sum.data() + o * n);
      *saturated |= FixedAdd(scale, sum.data() + n * model.classes + o);
    }
  }
  static void Slow(const SgdStep&, const WorkingParameters&) {}
  static void Move(float, const WorkingParameters&) {}
};

// A square root as root / 2^shift, root in [2^31, 2^32) and rounded down. square > 0.
struct Root {
  uint32_t root;
  int shift;
};

Root SquareRoot(Wide square) {
  int shift = 0;
  for (; square.high != 0; --shift) {
    square.low = square.low >> 2 | square.high << 62;
    square.high >>= 2;
  }
  for (; square.low >> 62 == 0; ++shift) square.low <<= 2;
  return {IntegerSqrt(square.low), shift};
}

}  // namespace

namespace internal {

Status FixedTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                       const WorkingParameters& working, Span<float> scratch, float* loss) {
  bool ignored = false;
  WorkingParameters watched = working;
  if (watched.saturated == nullptr) watched.saturated = &ignored;
  return TrainSoftmaxBatch<FixedPointArithmetic>(model, batch, step, watched, scratch, loss);
}

Status FixedBegin(Span<const float> base, const WorkingParameters& working) {
  constexpr uint32_t kInfinity = 0x7f800000;
  constexpr uint32_t kLimit = 0x42800000;  // 64
  for (size_t i = 0; i < base.size(); ++i) {
    const uint32_t magnitude = FloatBits(base[i]) & 0x7fffffff;
    if (magnitude >= kInfinity) return Status::kNotFinite;
    if (magnitude >= kLimit) return Status::kOutOfRange;
    StoreRaw(Weight::FromFloat(base[i]).raw(), &working.memory[i]);
  }
  for (float& v : working.velocity) StoreRaw(0, &v);
  return Status::kOk;
}

Status FixedProject(Span<const float> base, float radius, const WorkingParameters& working,
                    bool* was_outside) {
  const Wide square = FixedSquaredDistance(base.data(), working.memory.data(), base.size());
  *was_outside = false;
  if ((square.high | square.low) == 0) return Status::kOk;
  const Root distance = SquareRoot(square);
  const uint64_t bound = FloorScaled(radius, Weight::kFractionBits + distance.shift);
  *was_outside = distance.root > bound;
  if (*was_outside) {
    const uint64_t ratio = (bound << 31) / (uint64_t{distance.root} + 1);
    FixedPullTowards(base.data(), Fixed<32, 31>::FromRaw(static_cast<int64_t>(ratio)), base.size(),
                     working.memory.data());
  }
  return Status::kOk;
}

void FixedEnd(Span<const float> base, const WorkingParameters& working) {
  for (size_t i = 0; i < base.size(); ++i) {
    const int32_t moved = LoadRaw(&working.memory[i]) - Weight::FromFloat(base[i]).raw();
    working.memory[i] = base[i] + Offset::FromRaw(moved).ToFloat();
  }
}

}  // namespace internal
}  // namespace sotto::nn
