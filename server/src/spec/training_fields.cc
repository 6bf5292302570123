// The rows of local training. Part of sotto::server/spec.
#include "spec/job_fields.h"

namespace sotto::server::job_fields {
namespace {

// Conditions under which a store holds a row: a job without the feature has no such row.
bool IsBoundFromSteps(const JobConfig& job) { return job.plan.schedule.bound.IsSet(); }

using privacy::LearningRateSchedule;

}  // namespace

Fields LocalTraining() {
  return {
      Row("local-epochs", Learns::kTask, &TrainingOptions::local_epochs,
          "passes over a device's samples")
          .Within(kShort),
      Row("local-steps", Learns::kTask, &TrainingOptions::local_steps,
          "mini-batches of a round, however many passes they take; 0: --local-epochs")
          .Within({0, 65535})
          .Excludes("local-epochs")
          .StoredUnlessDefault(),
      Row("batch-size", Learns::kTask, &TrainingOptions::batch_size,
          "samples in a mini-batch; devices without memory for so many wait")
          .Within(kShort),
      Row("batches", Learns::kTask, &TrainingOptions::batches,
          "passes: each pass visits every sample once; with-replacement: each sample of a "
          "batch is drawn among all of the device's")
          .OneOf(Batches::kPasses, Batches::kWithReplacement)
          .StoredUnlessDefault(),
      Row("learning-rate", Learns::kTask, &TrainingOptions::learning_rate,
          "of local SGD in the first step of the first round, mu")
          .Within(kFactorOrNone),
      Row("weight-decay", Learns::kTask, &TrainingOptions::weight_decay, "L2 regularisation")
          .Within(kFactorOrNone),
      Row("momentum", Learns::kTask, &TrainingOptions::momentum,
          "of local SGD; costs a device 4 bytes a parameter, and devices without that memory "
          "wait")
          .Within(kBelowOne),
      Row("gradient-clip", Learns::kTask, &TrainingOptions::gradient_clip,
          "largest L2 norm of a gradient of local SGD, V; of samples it costs devices with a "
          "net 4 bytes a parameter, of batches those with a single dense layer, and devices "
          "without that memory wait; 0: none")
          .Within(kFactorOrNone)
          .Unit("model units")
          .StoredUnlessDefault(),
      Row("gradient-clip-of", Learns::kTask, &TrainingOptions::gradient_clip_of,
          "batch: clip the mean gradient of a mini-batch; sample: clip each sample's gradient, "
          "before the mean")
          .OneOf(GradientClipOf::kBatch, GradientClipOf::kSample)
          .Needs("gradient-clip")
          .StoredUnlessDefault(),
      Row("proximal", Learns::kTask, &TrainingOptions::proximal,
          "FedProx: adds alpha times the distance from the round's model to the gradient, "
          "after its clip")
          .Within(kFactorOrNone)
          .StoredUnlessDefault(),
      Row("clipping", Learns::kTask, &TrainingOptions::clipping,
          "every-step: project after each local step; at-end: scale the update")
          .OneOf(Clipping::kEveryStep, Clipping::kAtEnd),
      Row("clip-by-layer", Learns::kTask, &TrainingOptions::clip_by_layer,
          "per-layer clipping: each layer's part of the update has its bound, equal: the "
          "same for each layer, size: its square in proportion to the layer's parameters; the "
          "squares add up to at most C^2, so no epsilon changes; none: C for all together")
          .OneOf(ClipByLayer::kNone, ClipByLayer::kEqual, ClipByLayer::kSize)
          .StoredUnlessDefault(),
      Row("learning-rate-schedule", Learns::kTask, &JobConfig::learning_rate_schedule,
          "what mu is divided by in local step k of K in round t, both from 0: constant 1, "
          "inverse-step k + 1, inverse-round t + 1, inverse-all-steps t K + k + 1, and "
          "inverse-sqrt-... the square roots; ...-all-steps needs --local-steps")
          .OneOf(LearningRateSchedule::kConstant, LearningRateSchedule::kInverseStep,
                 LearningRateSchedule::kInverseRound, LearningRateSchedule::kInverseAllSteps,
                 LearningRateSchedule::kInverseSqrtRound, LearningRateSchedule::kInverseSqrtStep,
                 LearningRateSchedule::kInverseSqrtAllSteps)
          .StoredUnlessDefault(),
      Row("learning-rate-decay", Learns::kTask, &JobRequest::learning_rate_decay,
          "factor of the learning rate from round to round")
          .Within({1e-6, 1})
          .ByDefault("0.99 with --learning-rate-schedule constant, else 1")
          .RunsWith(&JobConfig::learning_rate_decay),
  };
}

// What a store must know of the local training to account a bound that follows from it.
Fields BoundFromSteps() {
  const auto of_bound = [](const char* name, auto member) {
    return Derived(name, member, Learns::kTask).StoredIf(IsBoundFromSteps);
  };
  return {
      Row("clip-from-steps", Learns::kTask, &JobRequest::clip_from_steps,
          "the bound C of each round follows from --local-steps, --gradient-clip, --proximal and "
          "the learning rates: no update of Noisy-FedAvg or Noisy-FedProx is longer. Without "
          "momentum and weight decay")
          .Excludes("clip"),
      of_bound("bound-gradient-clip", &privacy::StepBound::gradient_clip),
      of_bound("bound-proximal", &privacy::StepBound::proximal),
      of_bound("bound-steps", &privacy::StepBound::steps),
      of_bound("bound-rate", &privacy::LearningRate::base),
      of_bound("bound-rate-decay", &privacy::LearningRate::decay),
      of_bound("bound-rate-schedule", &privacy::LearningRate::schedule),
  };
}

Fields Threshold() {
  return {
      Row("threshold-bins", Learns::kTask, &JobConfig::threshold_bins,
          "of an autoencoder or a regression: the last round trains nothing; its devices send "
          "histograms of their prediction errors, within the same epsilon, and a threshold is "
          "found from the noisy sum. The upper ends of the bins, rising, with a comma between "
          "them; choose them from PUBLIC data; devices that cannot measure wait")
          .ByDefault("no threshold")
          .StoredUnlessDefault(),
      Row("threshold-quantile", Learns::kNothing, &JobConfig::threshold_quantile,
          "the share of the devices' errors that the threshold should not exceed, each device "
          "counting alike")
          .Within({0, 1, true})
          .Needs("threshold-bins")
          .StoredUnlessDefault(),
  };
}

}  // namespace sotto::server::job_fields
