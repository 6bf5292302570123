// One step of SGD for any net, in any arithmetic. Part of sotto/nn; private to the SDK.
//
// An Arithmetic has the members that walker.h needs, and:
//   CanStep(step, size)             whether its formats hold the factors of a step
//   Prepare(model, sample)          turns a float32 sample into its own numbers, in place;
//                                   the status of ModelInfo::train_batch if it is none
//   PrepareTarget(vector)           the same for a target
//   Errors(loss, outputs, target)   see LossPlan
//   Slow(step, working), MoveByVelocity(rate, working)
//                                   the velocity before a gradient is added to it, and the
//                                   parameters after that: see SgdStep
//   kHasGradientOptions             whether a step may have a gradient clip and a proximal term;
//                                   then also Shrink(step, working), the parameters before a
//                                   gradient is added to them, without momentum
//   saturated()                     see LayerCall
// All numbers are stored in the memory of the float32 that they stand for. One thread at a time.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/walker.h"
#include "sotto/nn.h"

namespace sotto::nn {

// Reads a sample of the batch into a net's input.
//   vector  [outputs] memory for a target of kVector, for which the target stands then
template <class Arithmetic>
Status ReadSample(const ModelInfo& model, const Batch& batch, uint32_t index,
                  const Arithmetic& arithmetic, Span<float> features, float* vector,
                  Target* target) {
  const SampleSource& source = *batch.source;
  if (model.loss.target == TargetKind::kVector) {
    const Span<float> numbers{vector, model.outputs};
    target->vector = vector;
    Status status = source.read_vector(source.context, index, features, numbers);
    if (status == Status::kOk) status = arithmetic.PrepareTarget(numbers);
    return status == Status::kOk ? arithmetic.Prepare(model, features) : status;
  }
  target->vector = features.data();  // of an autoencoder
  const Status status = source.read(source.context, index, features, &target->label);
  if (status != Status::kOk) return status;
  if (model.classes > 0 && target->label >= model.classes) return Status::kOutOfRange;
  return arithmetic.Prepare(model, features);
}

// SgdStep::error_clip.
inline void ClampErrors(float most, Span<Real> errors) {
  if (most == 0.0f) return;
  for (Real& error : errors) {
    error = error > most ? most : error < -most ? -most : error;
  }
}

// Moves the parameters, or the velocity and then the parameters, along the sum of n samples'
// gradients that the walker has, times `clip`.
template <class AnyWalker, class Arithmetic>
void MoveAlong(const AnyWalker& walker, const SgdStep& step, const WorkingParameters& working,
               float n, float clip, const Arithmetic& arithmetic) {
  if (step.momentum != 0.0f) {
    arithmetic.Slow(step, working);
    walker.Step(1.0f, clip / n, working.velocity.data(), arithmetic);
    arithmetic.MoveByVelocity(step.learning_rate, working);
    return;
  }
  float decay = 1.0f - step.learning_rate * step.weight_decay;
  if constexpr (Arithmetic::kHasGradientOptions) {
    if (step.proximal != 0.0f) {
      arithmetic.Shrink(step, working);
      decay = 1.0f;
    }
  }
  walker.Step(decay, -step.learning_rate / n * clip, working.memory.data(), arithmetic);
}

template <class Arithmetic>
class NetBatch {
 public:
  NetBatch(const ModelInfo& model, const Batch& batch, const WorkingParameters& working,
           Span<float> scratch, const Arithmetic& arithmetic)
      : model_(model),
        batch_(batch),
        working_(working),
        vector_(scratch.data() + NetMemory(model.layers, size())),
        arithmetic_(arithmetic),
        walker_(model.layers, working.memory.data(), scratch.data(), size(),
                arithmetic.saturated()) {}

  // Forward and back for all samples.
  Status AddGradients(const SgdStep& step, float* loss) {
    float sum = 0.0f;
    const bool clips = ClipsOf(step, GradientClipOf::kSample);
    if (clips) walker_.SeparateSamples(working_.gradient.data());
    walker_.BeginBatch();
    for (const uint32_t index : batch_.indices) {
      Target target;
      if (Status s =
              ReadSample(model_, batch_, index, arithmetic_, walker_.input(), vector_, &target);
          s != Status::kOk) {
        return s;
      }
      walker_.Forward();
      sum += arithmetic_.Errors(model_.loss, walker_.output(), target);
      if constexpr (Arithmetic::kHasGradientOptions) ClampErrors(step.error_clip, walker_.output());
      walker_.Backward();
      if constexpr (Arithmetic::kHasGradientOptions) {
        if (!clips) continue;
        if (Status s = AddClipped(step.gradient_clip); s != Status::kOk) return s;
      }
    }
    *loss = sum / static_cast<float>(size());
    return Status::kOk;
  }

  Status Step(const SgdStep& step) {
    const auto n = static_cast<float>(size());
    float clip = 1.0f;
    if constexpr (Arithmetic::kHasGradientOptions) {
      if (ClipsOf(step, GradientClipOf::kBatch)) {
        const Status s = FactorOfBatch(step.gradient_clip * n, &clip);
        if (s != Status::kOk) return s;
      }
    }
    MoveAlong(walker_, step, working_, n, clip, arithmetic_);
    return Status::kOk;
  }

 private:
  // Takes squares of a gradient in place of a step along it.
  struct Squares : FloatArithmetic {
    void Move(Real, Real, const Real* gradient, size_t n, Real*) const { norm->Add(gradient, n); }
    GradientNorm* norm;
  };

  static bool ClipsOf(const SgdStep& step, GradientClipOf what) {
    return Arithmetic::kHasGradientOptions && step.gradient_clip != 0.0f &&
           step.gradient_clip_of == what;
  }
  size_t size() const { return batch_.indices.size(); }

  // Adds the gradient of the sample at hand, clipped.
  Status AddClipped(float most) {
    GradientNorm norm;
    walker_.AddNormOfSample(&norm);
    float factor = 0.0f;
    if (Status s = norm.FactorFor(most, &factor); s != Status::kOk) return s;
    walker_.AddSample(factor);
    return Status::kOk;
  }

  // The factor that clips the sum of the batch's gradients.
  Status FactorOfBatch(float most, float* factor) {
    GradientNorm norm;
    Squares squares;
    squares.norm = &norm;
    walker_.Step(1.0f, 1.0f, working_.memory.data(), squares);
    return norm.FactorFor(most, factor);
  }

  const ModelInfo& model_;
  const Batch& batch_;
  const WorkingParameters& working_;
  float* const vector_;  // [outputs] memory for a target of kVector
  const Arithmetic arithmetic_;
  Walker walker_;
};

// ModelInfo::train_batch.
template <class Arithmetic>
Status TrainNetBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                     const WorkingParameters& working, Span<float> scratch, float* loss,
                     const Arithmetic& arithmetic) {
  const size_t size = batch.indices.size();
  if (size == 0 || !arithmetic.CanStep(step, size)) return Status::kInvalidArgument;
  if (scratch.size() < TrainingMemory(model.layers, model.loss, size)) {
    return Status::kBufferTooSmall;
  }
  NetBatch<Arithmetic> samples(model, batch, working, scratch, arithmetic);
  if (Status s = samples.AddGradients(step, loss); s != Status::kOk) return s;
  return samples.Step(step);
}

}  // namespace sotto::nn
