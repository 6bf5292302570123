// The rows of local training. Part of sotto::server/spec.
#include "spec/job_fields.h"

namespace sotto::server::job_fields {
namespace {

// Conditions under which a store holds a row. Stores of older programs lack these rows.
bool CountsSteps(const JobConfig& job) { return job.training.local_steps > 0; }
bool ClipsGradients(const JobConfig& job) { return job.training.gradient_clip > 0; }
bool ClipsSamples(const JobConfig& job) {
  return job.training.gradient_clip_of != GradientClipOf::kBatch;
}
bool IsProximal(const JobConfig& job) { return job.training.proximal > 0; }
bool DrawsBatches(const JobConfig& job) { return job.training.batches != Batches::kPasses; }
bool IsBoundFromSteps(const JobConfig& job) { return job.plan.schedule.bound.IsSet(); }
bool HasRateSchedule(const JobConfig& job) {
  return job.learning_rate_schedule != privacy::LearningRateSchedule::kConstant;
}

using privacy::LearningRateSchedule;

}  // namespace

Fields LocalTraining() {
  return {
      Row("local-epochs", "passes over a device's samples")
          .In(Group::kTraining)
          .Within(kShort)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.local_epochs; }),
      Row("local-steps",
          "mini-batches of a round, however many passes they take; 0: --local-epochs")
          .In(Group::kTraining)
          .Within({0, 65535})
          .Excludes("local-epochs")
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.local_steps; })
          .StoredIf(CountsSteps),
      Row("batch-size", "samples in a mini-batch; devices without memory for so many wait")
          .In(Group::kTraining)
          .Within(kShort)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.batch_size; }),
      Row("batches",
          "passes: each pass visits every sample once; with-replacement: each sample of a batch is "
          "drawn among all of the device's")
          .In(Group::kTraining)
          .OneOf(Batches::kPasses, Batches::kWithReplacement)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.batches; })
          .StoredIf(DrawsBatches),
      Row("learning-rate", "of local SGD in the first step of the first round, mu")
          .In(Group::kTraining)
          .Within(kFactorOrNone)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.learning_rate; }),
      Row("weight-decay", "L2 regularisation")
          .In(Group::kTraining)
          .Within(kFactorOrNone)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.weight_decay; }),
      Row("momentum",
          "of local SGD; costs a device 4 bytes a parameter, and devices without that memory wait")
          .In(Group::kTraining)
          .Within(kBelowOne)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.momentum; }),
      Row("gradient-clip",
          "largest L2 norm of a gradient of local SGD, V; of samples it costs devices with a net 4 "
          "bytes a parameter, of batches those with a single dense layer, and devices without that "
          "memory wait; 0: none")
          .In(Group::kTraining)
          .Within(kFactorOrNone)
          .Unit("model units")
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.gradient_clip; })
          .StoredIf(ClipsGradients),
      Row("gradient-clip-of",
          "batch: clip the mean gradient of a mini-batch; sample: that of each sample, before the "
          "mean")
          .In(Group::kTraining)
          .OneOf(GradientClipOf::kBatch, GradientClipOf::kSample)
          .Needs("gradient-clip")
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.gradient_clip_of; })
          .StoredIf(ClipsSamples),
      Row("proximal",
          "FedProx: adds alpha times the distance from the round's model to the gradient, after "
          "its clip")
          .In(Group::kTraining)
          .Within(kFactorOrNone)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.proximal; })
          .StoredIf(IsProximal),
      Row("clipping", "every-step: project after each local step; at-end: scale the update")
          .In(Group::kTraining)
          .OneOf(Clipping::kEveryStep, Clipping::kAtEnd)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.training.clipping; }),
      Row("learning-rate-schedule",
          "what mu is divided by in local step k of K in round t, both from 0: constant 1, "
          "inverse-step k + 1, inverse-round t + 1, inverse-all-steps t K + k + 1, and "
          "inverse-sqrt-... the square roots; ...-all-steps needs --local-steps")
          .In(Group::kTraining)
          .OneOf(LearningRateSchedule::kConstant, LearningRateSchedule::kInverseStep,
                 LearningRateSchedule::kInverseRound, LearningRateSchedule::kInverseAllSteps,
                 LearningRateSchedule::kInverseSqrtRound, LearningRateSchedule::kInverseSqrtStep,
                 LearningRateSchedule::kInverseSqrtAllSteps)
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.learning_rate_schedule; })
          .StoredIf(HasRateSchedule),
      Row("learning-rate-decay", "factor of the learning rate from round to round")
          .In(Group::kTraining)
          .Within({1e-6, 1})
          .ByDefault("0.99 with --learning-rate-schedule constant, else 1")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.learning_rate_decay; })
          .Reads([](const JobRecord& job) { return ToValue(job.config.learning_rate_decay); }),
  };
}

// What a store must know of the local training to account a bound that follows from it.
Fields BoundFromSteps() {
  const auto of_bound = [](const char* name, auto ref) {
    return Derived(name, Learns::kTask)
        .OfPlan([ref](auto& plan) -> auto& { return ref(plan.schedule.bound); })
        .StoredIf(IsBoundFromSteps);
  };
  return {
      Row("clip-from-steps",
          "the bound C of each round follows from --local-steps, --gradient-clip, --proximal and "
          "the learning rates: no update of Noisy-FedAvg or Noisy-FedProx is longer. Without "
          "momentum and weight decay")
          .In(Group::kTraining)
          .Excludes("clip")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.clip_from_steps; }),
      of_bound(
          "bound-gradient-clip", [](auto& bound) -> auto& { return bound.gradient_clip; }),
      of_bound(
          "bound-proximal", [](auto& bound) -> auto& { return bound.proximal; }),
      of_bound(
          "bound-steps", [](auto& bound) -> auto& { return bound.steps; }),
      of_bound(
          "bound-rate", [](auto& bound) -> auto& { return bound.rate.base; }),
      of_bound(
          "bound-rate-decay", [](auto& bound) -> auto& { return bound.rate.decay; }),
      of_bound(
          "bound-rate-schedule", [](auto& bound) -> auto& { return bound.rate.schedule; }),
  };
}

}  // namespace sotto::server::job_fields
