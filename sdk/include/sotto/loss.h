// What a training minimises: a loss of a net's outputs and a sample's target. Part of sotto/nn.
//
// A net names its loss as its last entry; without one it has SoftmaxCrossEntropy. A firmware links
// only the losses that its nets name.
//
//   using Net = sotto::nn::Sequential<sotto::nn::Dense<50, 10>, sotto::nn::OneVsAll>;
//   using Detector = sotto::nn::Sequential<
//       sotto::nn::Dense<64, 8>, sotto::nn::Tanh, sotto::nn::Dense<8, 64>,
//       sotto::nn::MeanSquaredError<sotto::nn::TargetKind::kInput>>;
//
// A batch's loss is the mean over its samples.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/layer.h"

namespace sotto::nn {

// Values enter the model digest: never renumber.
enum class LossKind : uint32_t { kSoftmaxCrossEntropy = 1, kOneVsAll = 2, kMeanSquaredError = 3 };

// What the outputs should be. Values enter the model digest: never renumber.
enum class TargetKind : uint32_t {
  kClass = 1,   // a class, from SampleSource::read
  kVector = 2,  // [outputs] float32, from SampleSource::read_vector
  kInput = 3,   // the sample itself: autoencoders, for example to detect anomalies
};

// The target of one sample.
struct Target {
  uint32_t label = 0;            // of kClass; below the net's classes
  const Real* vector = nullptr;  // [outputs] of the other kinds
};

struct LossPlan {
  LossKind kind = LossKind::kSoftmaxCrossEntropy;
  TargetKind target = TargetKind::kClass;
  // outputs [outputs] <- the derivative of the sample's loss by them. Returns the loss.
  Real (*errors)(Span<Real> outputs, const Target& target) = nullptr;

  // Classes that a target can name; 0: the target is none.
  constexpr uint32_t Classes(uint32_t outputs) const {
    if (target != TargetKind::kClass) return 0;
    return kind == LossKind::kOneVsAll && outputs == 1 ? 2 : outputs;
  }
};

namespace internal {

Real SoftmaxErrors(Span<Real> outputs, const Target& target);
Real OneVsAllErrors(Span<Real> outputs, const Target& target);
Real SquaredErrors(Span<Real> outputs, const Target& target);

// In fixed point: see FixedPoint in nn.h. Numbers of the target are in the format of the outputs.
Real FixedSoftmaxNetErrors(Span<Real> outputs, const Target& target);
Real FixedOneVsAllErrors(Span<Real> outputs, const Target& target);
Real FixedSquaredErrors(Span<Real> outputs, const Target& target);

}  // namespace internal

// Softmax and cross-entropy: outputs are scores of classes, one a class.
//   loss = log(sum_k e^y[k]) - y[label]
//   d loss / d y[k] = softmax(y)[k] - (k == label)
struct SoftmaxCrossEntropy {
  static constexpr LossPlan Plan() {
    return {LossKind::kSoftmaxCrossEntropy, TargetKind::kClass, internal::SoftmaxErrors};
  }
  static constexpr LossPlan FixedPlan() {
    return {LossKind::kSoftmaxCrossEntropy, TargetKind::kClass, internal::FixedSoftmaxNetErrors};
  }
};

// One logistic regression an output, of its class against all others. A single output tells two
// classes apart: it is positive for class 1.
//   t[k] = (k == label); for a single output t[0] = label
//   loss = sum_k log(1 + e^y[k]) - t[k] y[k]
//   d loss / d y[k] = 1 / (1 + e^-y[k]) - t[k]
struct OneVsAll {
  static constexpr LossPlan Plan() {
    return {LossKind::kOneVsAll, TargetKind::kClass, internal::OneVsAllErrors};
  }
  static constexpr LossPlan FixedPlan() {
    return {LossKind::kOneVsAll, TargetKind::kClass, internal::FixedOneVsAllErrors};
  }
};

// For regression and for autoencoders.
//   loss = 1 / outputs sum_k (y[k] - t[k])^2
//   d loss / d y[k] = 2 / outputs (y[k] - t[k])
template <TargetKind target = TargetKind::kVector>
struct MeanSquaredError {
  static_assert(target != TargetKind::kClass, "the target of a regression is a vector");
  static constexpr LossPlan Plan() {
    return {LossKind::kMeanSquaredError, target, internal::SquaredErrors};
  }
  static constexpr LossPlan FixedPlan() {
    return {LossKind::kMeanSquaredError, target, internal::FixedSquaredErrors};
  }
};

}  // namespace sotto::nn
