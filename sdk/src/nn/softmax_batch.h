// One step of SGD for softmax regression, in any arithmetic. Part of sotto/nn; private to the SDK.
//
// An Arithmetic is a type with these members; its functions are static:
//   LossSum              type of a sum of losses
//   PrepareForScores(features), PrepareForUpdate(features, saturated)
//                        turn features as read, float32, into its own, in place; kOk or kNotFinite
//   Errors(model, working, features, label, errors)
//                        errors <- softmax - one-hot; returns the loss
//   MeanLoss(sum, n)     as float32
//   MakeRate(rate, &r)   a factor in its own format; kOk or kInvalidArgument
//   Shrink(step, working)
//                        the parameters before a gradient is added to them, without momentum
//   kHasGradientOptions  whether a step may have a gradient clip and a proximal term; the next two
//                        are then used:
//   ClipErrors(most, features, errors)
//                        scales the errors so that the norm of errors (features, 1)^T is at most
//                        `most`; kOk or kNotFinite
//   AddClipped(most, factor, gradient, sum)
//                        sum <- sum + factor * gradient, clipped to `most`; kOk or kNotFinite
//   AddErrors(model, r, errors, features, sum, saturated)
//                        sum <- sum + r * errors (features, 1)^T
//   Slow(step, working), Move(rate, working)
//                        the velocity before a gradient is added to it, and the parameters after
//                        that: see SgdStep
// *saturated is set if a number is out of range: see WorkingParameters.
// All numbers are stored in the memory of the float32 that they stand for. One thread at a time.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/nn.h"

namespace sotto::nn {

template <class Arithmetic>
class SoftmaxBatch {
 public:
  SoftmaxBatch(const ModelInfo& model, const Batch& batch, const WorkingParameters& working,
               Span<float> scratch)
      : model_(model),
        batch_(batch),
        working_(working),
        features_(scratch.first(model.PreparedShape().size())),
        errors_(scratch.subspan(FirstTensorSize(model.layers[0]))) {}

  // Fills the errors of all samples. A clip of samples scales them.
  Status ComputeErrors(const SgdStep& step, float* loss) {
    const bool clips = ClipsOf(step, GradientClipOf::kSample);
    typename Arithmetic::LossSum sum = 0;
    for (size_t s = 0; s < size(); ++s) {
      uint32_t label = 0;
      if (Status st = Read(s, &label); st != Status::kOk) return st;
      if (label >= model_.classes) return Status::kOutOfRange;
      if (Status st = Arithmetic::PrepareForScores(features_); st != Status::kOk) return st;
      sum += Arithmetic::Errors(model_, working_, features_, label, ErrorsOf(s));
      if constexpr (Arithmetic::kHasGradientOptions) {
        if (!clips) continue;
        const Status st = Arithmetic::ClipErrors(step.gradient_clip, features_, ErrorsOf(s));
        if (st != Status::kOk) return st;
      }
    }
    *loss = Arithmetic::MeanLoss(sum, size());
    return Status::kOk;
  }

  // sum += factor * the mean's gradient, clipped if the step says so.
  Status AddGradients(const SgdStep& step, float factor, Span<float> sum) {
    const bool clips = ClipsOf(step, GradientClipOf::kBatch);
    const Span<float> gradient = working_.gradient;
    if (clips) {
      for (float& g : gradient) g = 0.0f;
    }
    const Status status = AddMean(clips ? 1.0f : factor, clips ? gradient : sum);
    if constexpr (Arithmetic::kHasGradientOptions) {
      if (!clips || status != Status::kOk) return status;
      return Arithmetic::AddClipped(step.gradient_clip, factor, gradient, sum);
    }
    return status;
  }

 private:
  static bool ClipsOf(const SgdStep& step, GradientClipOf what) {
    return Arithmetic::kHasGradientOptions && step.gradient_clip != 0.0f &&
           step.gradient_clip_of == what;
  }
  size_t size() const { return batch_.indices.size(); }

  // sum += factor * the mean's gradient: one rank-1 update a sample.
  Status AddMean(float factor, Span<float> sum) {
    typename Arithmetic::Rate rate{};
    if (Status st = Arithmetic::MakeRate(factor / static_cast<float>(size()), &rate);
        st != Status::kOk) {
      return st;
    }
    for (size_t s = 0; s < size(); ++s) {
      uint32_t label = 0;
      if (Status st = Read(s, &label); st != Status::kOk) return st;
      if (Status st = Arithmetic::PrepareForUpdate(features_, working_.saturated);
          st != Status::kOk)
        return st;
      Arithmetic::AddErrors(model_, rate, ErrorsOf(s), features_, sum, working_.saturated);
    }
    return Status::kOk;
  }

  Span<float> ErrorsOf(size_t s) const {
    return errors_.subspan(s * model_.classes, model_.classes);
  }
  Status Read(size_t s, uint32_t* label) const {
    const SampleSource& source = *batch_.source;
    return source.read(source.context, batch_.indices[s], features_, label);
  }

  const ModelInfo& model_;
  const Batch& batch_;
  const WorkingParameters& working_;
  Span<float> features_;  // of the sample at hand
  Span<float> errors_;    // [batch][classes]
};

// ModelInfo::train_batch.
template <class Arithmetic>
Status TrainSoftmaxBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                         const WorkingParameters& working, Span<float> scratch, float* loss) {
  const size_t size = batch.indices.size();
  if (size == 0) return Status::kInvalidArgument;
  if (scratch.size() < internal::SoftmaxTrainingFloats(model, static_cast<uint32_t>(size))) {
    return Status::kBufferTooSmall;
  }
  SoftmaxBatch<Arithmetic> samples(model, batch, working, scratch);
  if (Status s = samples.ComputeErrors(step, loss); s != Status::kOk) return s;
  const bool has_momentum = step.momentum != 0.0f;
  const float rate = step.learning_rate;
  if (has_momentum) {
    Arithmetic::Slow(step, working);
  } else if (step.weight_decay != 0.0f || step.proximal != 0.0f) {
    Arithmetic::Shrink(step, working);
  }
  const Span<float> sum = has_momentum ? working.velocity : working.memory;
  if (Status s = samples.AddGradients(step, has_momentum ? 1.0f : -rate, sum); s != Status::kOk) {
    return s;
  }
  if (has_momentum) Arithmetic::Move(rate, working);
  return Status::kOk;
}

}  // namespace sotto::nn
