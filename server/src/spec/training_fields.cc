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
          "mini-batches of a device in a round, instead of passes; 0: --local-epochs")
          .Within({0, 65535})
          .Excludes("local-epochs")
          .StoredUnlessDefault(),
      Row("batch-size", Learns::kTask, &TrainingOptions::batch_size,
          "samples in a mini-batch; devices without the memory for it wait")
          .Within(kShort),
      Row("batches", Learns::kTask, &TrainingOptions::batches,
          "how batches are drawn; passes: each pass visits every sample once; with-replacement: "
          "each sample of a batch is drawn from all samples of the device")
          .OneOf(Batches::kPasses, Batches::kWithReplacement)
          .StoredUnlessDefault(),
      Row("learning-rate", Learns::kTask, &TrainingOptions::learning_rate,
          "learning rate of local SGD in the first step of the first round, mu")
          .Within(kFactorOrNone),
      Row("weight-decay", Learns::kTask, &TrainingOptions::weight_decay,
          "factor of the L2 regularisation of local SGD")
          .Within(kFactorOrNone),
      Row("momentum", Learns::kTask, &TrainingOptions::momentum,
          "momentum of local SGD; it costs a device 4 bytes a parameter, and devices without that "
          "memory wait")
          .Within(kBelowOne),
      Row("gradient-clip", Learns::kTask, &TrainingOptions::gradient_clip,
          "largest L2 norm of a gradient of local SGD, V; 0: no clip. It costs a device 4 bytes a "
          "parameter if it clips gradients of samples of a net, or gradients of batches of a "
          "single dense layer; devices without that memory wait")
          .Within(kFactorOrNone)
          .Unit("model units")
          .StoredUnlessDefault(),
      Row("gradient-clip-of", Learns::kTask, &TrainingOptions::gradient_clip_of,
          "what --gradient-clip clips; batch: the mean gradient of a mini-batch; sample: each "
          "sample's gradient, before the mean")
          .OneOf(GradientClipOf::kBatch, GradientClipOf::kSample)
          .Needs("gradient-clip")
          .StoredUnlessDefault(),
      Row("proximal", Learns::kTask, &TrainingOptions::proximal,
          "alpha of FedProx: adds alpha times the difference from the round's model to the "
          "gradient, after its clip; 0: none")
          .Within(kFactorOrNone)
          .StoredUnlessDefault(),
      Row("clipping", Learns::kTask, &TrainingOptions::clipping,
          "when a device bounds its update by C; every-step: project after each local step; "
          "at-end: scale the update")
          .OneOf(Clipping::kEveryStep, Clipping::kAtEnd),
      Row("clip-by-layer", Learns::kTask, &TrainingOptions::clip_by_layer,
          "bound each layer's part of the update; equal: the same bound for each layer; size: the "
          "square of a bound is in proportion to the layer's parameters; none: C for all layers "
          "together. The squares add up to at most C^2, so no epsilon changes")
          .OneOf(ClipByLayer::kNone, ClipByLayer::kEqual, ClipByLayer::kSize)
          .StoredUnlessDefault(),
      Row("learning-rate-schedule", Learns::kTask, &JobConfig::learning_rate_schedule,
          "divisor of mu in local step k of K in round t, both from 0; constant: 1; inverse-step: "
          "k + 1; inverse-round: t + 1; inverse-all-steps: t K + k + 1; inverse-sqrt-...: the "
          "square roots; ...-all-steps needs --local-steps")
          .OneOf(LearningRateSchedule::kConstant, LearningRateSchedule::kInverseStep,
                 LearningRateSchedule::kInverseRound, LearningRateSchedule::kInverseAllSteps,
                 LearningRateSchedule::kInverseSqrtRound, LearningRateSchedule::kInverseSqrtStep,
                 LearningRateSchedule::kInverseSqrtAllSteps)
          .StoredUnlessDefault(),
      Row("learning-rate-decay", Learns::kTask, &JobRequest::learning_rate_decay,
          "factor by which each round multiplies the learning rate")
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
          "compute the bound C of each round from --local-steps, --gradient-clip, --proximal and "
          "the learning rates: no update of Noisy-FedAvg or Noisy-FedProx is longer. It excludes "
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
          "upper ends of histogram bins, rising, comma-separated; choose them from PUBLIC data. "
          "For an autoencoder or a regression: in the last round devices do not train; they send "
          "histograms of their prediction errors, within the same epsilon, and the server finds a "
          "threshold from the noisy sum. Devices that cannot measure wait")
          .ByDefault("no threshold")
          .StoredUnlessDefault(),
      Row("threshold-quantile", Learns::kNothing, &JobConfig::threshold_quantile,
          "share of the devices' errors that the threshold should not exceed; each device has the "
          "same weight")
          .Within({0, 1, true})
          .Needs("threshold-bins")
          .StoredUnlessDefault(),
  };
}

}  // namespace sotto::server::job_fields
