// What happens to a sample's features before the first layer. Part of sotto/nn.
//
// Steps are entries of a net behind its Input, in the order in which they are applied. A sample
// source gives raw features; the SDK prepares them, in training and in predictions, in float32 and
// in fixed point. So board, client and simulator prepare alike, and a model's digest covers its
// steps. A firmware links only the kinds of steps that its nets name.
//
//   constexpr float kMean = 0.1307f;
//   constexpr float kDeviation = 0.3081f;
//   using Net = sotto::nn::Sequential<
//       sotto::nn::Input<28, 28, 1>, sotto::nn::Normalise<kMean, kDeviation>,
//       sotto::nn::RandomCrop<2>, sotto::nn::Dense<784, 10>>;
//
// Numbers of a step are constants with static storage: one float for all features, or an array of
// one float a channel, or of one a feature. extern const float kMean[3]; in a header is enough.
//
// Random steps change samples in training only, differently in each pass. The change depends on
// nothing but the training's key, the number of the pass and the sample's number: it is the same
// each time that a step of SGD reads the sample, and the same on every CPU. A server that knows a
// device's secret can compute it.
//
// Most steps change features in place. A step of signal_features.h gives a sample another shape: it
// leaves fewer numbers at the front of the memory that held its input. All operations are IEEE 754
// binary32, in the order in which the formulas stand here, without fused multiply-add: the same
// bits on every CPU. Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/layer.h"
#include "sotto/span.h"

namespace sotto::nn {

// Values enter the model digest: never renumber.
enum class PreparationKind : uint32_t {
  kFillMissing = 1,
  kRescale = 2,
  kNormalise = 3,
  kUnitNorm = 4,
  kRandomCrop = 5,
  kRandomFlip = 6,
  kDifference = 7,  // from here on: signal_features.h
  kStats = 8,
  kSpectrum = 9,
  kMel = 10,
  kDct = 11,
};

// Random words of a random step for one sample in one pass.
constexpr size_t kRandomWords = 2;
// The most random steps of a model: their words are one block of ChaCha20.
constexpr size_t kMaxRandomSteps = 8;

struct PreparationCall;

// One step. Its functions and numbers outlive it. The model digest covers all but `apply`.
struct PreparationStep {
  PreparationKind kind = PreparationKind::kUnitNorm;
  bool is_random = false;  // applied in training only
  uint32_t size = 0;       // of RandomCrop the padding
  // The step's numbers, each of them one, one a channel or one a feature; unused ones are empty.
  Span<const float> first = {};
  Span<const float> second = {};
  void (*apply)(const PreparationCall& call) = nullptr;
  // The step's place among the steps of its net, see PlacedStep().
  Shape input = {};
  Shape output = {};
  uint32_t scratch = 0;  // floats that it needs behind its input
};

// A step at work on one sample.
//   features  [step.input.size()] float32, changed in place: the output, [step.output.size()], lies
//             at the front
//   scratch   [step.scratch], unspecified before and after
//   random    [kRandomWords] uniform 32-bit words of a random step, else empty
struct PreparationCall {
  const PreparationStep& step;
  Span<float> features;
  float* scratch;
  Span<const uint32_t> random;
};

// Whether a step can have this many numbers.
constexpr bool AreNumbersFor(const Shape& shape, size_t count) {
  return count == 1 || count == shape.channels || count == shape.size();
}

// Whether windows of an image can be moved by `padding` and still have a part of it.
constexpr bool FitsCrop(const Shape& shape, uint32_t padding) {
  return padding >= 1 && padding < shape.height && padding < shape.width;
}

constexpr bool IsImage(const Shape& shape) { return shape.height > 1; }

// Of the steps in signal_features.h: whether one fits samples of this shape, what it makes of them,
// and the scratch that it needs.
constexpr bool ChangesShape(PreparationKind kind) { return kind >= PreparationKind::kDifference; }
constexpr bool FitsFeatures(const PreparationStep& step, const Shape& shape);
constexpr Shape FeatureShape(const PreparationStep& step, const Shape& shape);
constexpr uint32_t FeatureScratch(const PreparationStep& step, const Shape& shape);

// Whether a step fits samples of this shape.
constexpr bool FitsPreparation(const PreparationStep& step, const Shape& shape) {
  switch (step.kind) {
    case PreparationKind::kFillMissing:
      return AreNumbersFor(shape, step.first.size());
    case PreparationKind::kRescale:
    case PreparationKind::kNormalise:
      return AreNumbersFor(shape, step.first.size()) && AreNumbersFor(shape, step.second.size());
    case PreparationKind::kUnitNorm:
      return true;
    case PreparationKind::kRandomCrop:
      return FitsCrop(shape, step.size);
    case PreparationKind::kRandomFlip:
      return IsImage(shape);
    case PreparationKind::kDifference:
    case PreparationKind::kStats:
    case PreparationKind::kSpectrum:
    case PreparationKind::kMel:
    case PreparationKind::kDct:
      return FitsFeatures(step, shape);
  }
  return false;
}

constexpr size_t CountRandom(Span<const PreparationStep> steps) {
  size_t count = 0;
  for (const PreparationStep& step : steps) count += step.is_random ? 1 : 0;
  return count;
}

// A step that takes samples of this shape, which it fits.
constexpr PreparationStep PlacedStep(PreparationStep step, const Shape& shape) {
  step.input = shape;
  step.output = ChangesShape(step.kind) ? FeatureShape(step, shape) : shape;
  step.scratch = ChangesShape(step.kind) ? FeatureScratch(step, shape) : 0;
  return step;
}

// Floats of memory in which samples of this shape are prepared: the most that a step needs for its
// input, its output and its scratch.
constexpr size_t PreparationFloats(Span<const PreparationStep> steps, const Shape& sample) {
  size_t most = sample.size();
  for (const PreparationStep& step : steps) {
    const size_t floats = size_t{step.input.size()} + step.scratch;
    most = floats > most ? floats : most;
  }
  return most;
}

// The shape of a prepared sample.
constexpr Shape PreparedShape(Span<const PreparationStep> steps, const Shape& sample) {
  return steps.empty() ? sample : steps[steps.size() - 1].output;
}

// Applies the steps that are not random, in their order: a prediction's.
//   steps   placed, see PlacedStep()
//   memory  [PreparationFloats(steps, shape of a sample)]; in: the sample at the front, out: the
//           prepared sample at the front
void Prepare(Span<const PreparationStep> steps, float* memory);

// Applies all steps in their order: a training's.
//   random  [kRandomWords * CountRandom(steps)]; each random step takes the next ones
void PrepareForTraining(Span<const PreparationStep> steps, float* memory,
                        Span<const uint32_t> random);

namespace internal {

void FillMissingFeatures(const PreparationCall& call);
void RescaleFeatures(const PreparationCall& call);
void NormaliseFeatures(const PreparationCall& call);
void DivideByNorm(const PreparationCall& call);
void CropAtRandom(const PreparationCall& call);
void FlipAtRandom(const PreparationCall& call);

template <size_t n>
constexpr Span<const float> NumbersOf(const float (&numbers)[n]) {
  return numbers;
}
constexpr Span<const float> NumbersOf(const float& number) { return {&number, 1}; }

constexpr PreparationStep StepOf(PreparationKind kind, void (*apply)(const PreparationCall&),
                                 Span<const float> first = {}, Span<const float> second = {}) {
  PreparationStep step;
  step.kind = kind;
  step.first = first;
  step.second = second;
  step.apply = apply;
  return step;
}

constexpr PreparationStep RandomStepOf(PreparationKind kind, void (*apply)(const PreparationCall&),
                                       uint32_t size = 0) {
  PreparationStep step = StepOf(kind, apply);
  step.is_random = true;
  step.size = size;
  return step;
}

constexpr PreparationStep FillMissingStep(Span<const float> values) {
  return StepOf(PreparationKind::kFillMissing, FillMissingFeatures, values);
}
constexpr PreparationStep RescaleStep(Span<const float> factors, Span<const float> offsets) {
  return StepOf(PreparationKind::kRescale, RescaleFeatures, factors, offsets);
}
constexpr PreparationStep NormaliseStep(Span<const float> means, Span<const float> deviations) {
  return StepOf(PreparationKind::kNormalise, NormaliseFeatures, means, deviations);
}
constexpr PreparationStep UnitNormStep() {
  return StepOf(PreparationKind::kUnitNorm, DivideByNorm);
}
constexpr PreparationStep RandomCropStep(uint32_t padding) {
  return RandomStepOf(PreparationKind::kRandomCrop, CropAtRandom, padding);
}
constexpr PreparationStep RandomFlipStep() {
  return RandomStepOf(PreparationKind::kRandomFlip, FlipAtRandom);
}

}  // namespace internal

// x <- value where x is NaN, which stands for a missing number. Without this step NaN makes most
// trainings fail; behind a rectifier it may go unnoticed as zero.
template <const auto& values>
struct FillMissing {
  static constexpr PreparationStep Step() {
    return internal::FillMissingStep(internal::NumbersOf(values));
  }
};

// x <- factor * x + offset.
template <const auto& factors, const auto& offsets>
struct Rescale {
  static constexpr PreparationStep Step() {
    return internal::RescaleStep(internal::NumbersOf(factors), internal::NumbersOf(offsets));
  }
};

// x <- (x - mean) / deviation. Deviations are above 0.
template <const auto& means, const auto& deviations>
struct Normalise {
  static constexpr PreparationStep Step() {
    return internal::NormaliseStep(internal::NumbersOf(means), internal::NumbersOf(deviations));
  }
};

// x <- x / ||x||, the L2 norm of the whole sample; zeros stay zeros. First y = x / max |x|, so no
// square overflows; then x <- y / sqrt(sum of y^2), a sum in the order of memory. Features are
// finite.
struct UnitNorm {
  static constexpr PreparationStep Step() { return internal::UnitNormStep(); }
};

// Adds `padding` zeros on all sides of an image, then takes a window of the image's size at a
// random place: the image moves by up to `padding` rows and as many columns, each move equally
// likely. Zero is what the image's background is at this place among the steps: before Normalise a
// black pixel, after it the mean.
template <uint32_t padding>
struct RandomCrop {
  static constexpr PreparationStep Step() { return internal::RandomCropStep(padding); }
};

// Mirrors an image from left to right with probability 1/2.
struct RandomFlip {
  static constexpr PreparationStep Step() { return internal::RandomFlipStep(); }
};

}  // namespace sotto::nn

#include "sotto/signal_features.h"
