// One step of SGD for any net, in any arithmetic. Part of sotto/nn; private to the SDK.
//
// An Arithmetic has the members that walker.h needs, and:
//   CanStep(step, size)             whether its formats hold the factors of a step
//   Prepare(model, sample)          turns a float32 sample into its own numbers, in place;
//                                     the status of ModelInfo::train_batch if it is none
//   PrepareTarget(vector)           the same for a target
//   Errors(loss, outputs, target)   see LossPlan
//   Slow(step, working), MoveByVelocity(rate, working)
//                                   the velocity before a gradient is added to it, and the
//                                     parameters after that: see SgdStep
//   saturated()                     see LayerCall
// All numbers are stored in the memory of the float32 that they stand for. One thread at a time.
#ifndef SOTTO_NN_NET_BATCH_H_
#define SOTTO_NN_NET_BATCH_H_

#include "nn/walker.h"
#include "sotto/nn.h"

namespace sotto::nn {

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
  Status AddGradients(float* loss) {
    float sum = 0.0f;
    walker_.BeginBatch();
    for (const uint32_t index : batch_.indices) {
      Target target;
      if (Status s = Read(index, &target); s != Status::kOk) return s;
      walker_.Forward();
      sum += arithmetic_.Errors(model_.loss, walker_.output(), target);
      walker_.Backward();
    }
    *loss = sum / static_cast<float>(size());
    return Status::kOk;
  }

  void Step(const SgdStep& step) {
    const auto n = static_cast<float>(size());
    if (step.momentum == 0.0f) {
      const float decay = 1.0f - step.learning_rate * step.weight_decay;
      walker_.Step(decay, -step.learning_rate / n, working_.memory.data(), arithmetic_);
      return;
    }
    arithmetic_.Slow(step, working_);
    walker_.Step(1.0f, 1.0f / n, working_.velocity.data(), arithmetic_);
    arithmetic_.MoveByVelocity(step.learning_rate, working_);
  }

 private:
  size_t size() const { return batch_.indices.size(); }

  // Reads a sample into the walker's input.
  Status Read(uint32_t index, Target* target) {
    const SampleSource& source = *batch_.source;
    const Span<float> features = walker_.input();
    if (model_.loss.target == TargetKind::kVector) {
      const Span<float> vector{vector_, model_.outputs};
      target->vector = vector_;
      Status status = source.read_vector(source.context, index, features, vector);
      if (status == Status::kOk) status = arithmetic_.PrepareTarget(vector);
      return status == Status::kOk ? arithmetic_.Prepare(model_, features) : status;
    }
    target->vector = features.data();  // of an autoencoder
    const Status status = source.read(source.context, index, features, &target->label);
    if (status != Status::kOk) return status;
    if (model_.classes > 0 && target->label >= model_.classes) return Status::kOutOfRange;
    return arithmetic_.Prepare(model_, features);
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
  if (Status s = samples.AddGradients(loss); s != Status::kOk) return s;
  samples.Step(step);
  return Status::kOk;
}

}  // namespace sotto::nn

#endif  // SOTTO_NN_NET_BATCH_H_
