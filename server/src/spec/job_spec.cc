#include "spec/job_spec.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "aggregate/methods.h"
#include "sotto/models.h"
#include "sotto/posix/hex.h"
#include "spec/parameters_file.h"

namespace sotto::server {
namespace {

using Fields = std::vector<Field<JobRequest>>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Range kCount = {1, 1000000};
constexpr Range kCountOrNone = {0, 1000000};
constexpr Range kShort = {1, 65535};
constexpr Range kFactor = {1e-6, 1e6};
constexpr Range kFactorOrNone = {0, 1e6};
constexpr Range kBelowOne = {0, 0.999999};

constexpr auto Row = RowOf<JobRequest>;

using privacy::LearningRateSchedule;

// A field that is no option: its value follows from other fields.
Field<JobRequest> Derived(const char* name, Learns who = Learns::kNothing) {
  Field<JobRequest> field = Row(name, "");
  field.device = who;
  return field;
}

std::vector<std::string> ModelNames() {
  std::vector<std::string> names;
  for (const ModelInfo& model : Models()) names.emplace_back(model.name);
  return names;
}

void OpenModel(JobRequest& request, const std::string& value) {
  try {
    request.opened_model = posix::OpenModel(value);
    request.model_file = value;
  } catch (const std::exception& error) {
    throw std::invalid_argument(fmt::format("--model {}", error.what()));
  }
  request.job.model = request.opened_model.get();
}

// Conditions under which a store holds a row. Stores of older programs lack these rows.
bool IsAdaptive(const JobConfig& job) { return job.clip_schedule.has_value(); }
bool EvaluatesOnDevices(const JobConfig& job) { return job.evaluates_on_devices; }
bool HasInitialModel(const JobConfig& job) { return !job.initial_parameters.empty(); }
bool CountsSteps(const JobConfig& job) { return job.training.local_steps > 0; }
bool ClipsGradients(const JobConfig& job) { return job.training.gradient_clip > 0; }
bool ClipsSamples(const JobConfig& job) {
  return job.training.gradient_clip_of != GradientClipOf::kBatch;
}
bool IsProximal(const JobConfig& job) { return job.training.proximal > 0; }
bool DrawsBatches(const JobConfig& job) { return job.training.batches != Batches::kPasses; }
bool IsBoundFromSteps(const JobConfig& job) { return job.plan.schedule.bound.IsSet(); }
bool HasNoiseDecay(const JobConfig& job) { return job.plan.schedule.noise_decay != 1; }
bool HasRateSchedule(const JobConfig& job) {
  return job.learning_rate_schedule != privacy::LearningRateSchedule::kConstant;
}
bool IsPrivateNoise(const JobConfig& job) {
  return job.plan.Trust() == privacy::TrustMode::kPrivateNoise;
}

Fields ModelAndCode() {
  return {
      Row("model", "the net: its name, which `sotto model` lists, or a file that describes it")
          .In(Group::kRounds)
          .OneOfNames(ModelNames())
          .OrFile("FILE.toml")
          .AskedAsText(
              Learns::kNoise, [](const JobRequest& request) { return request.job.model; },
              OpenModel)
          .Reads([](const JobRecord& job) { return ToJson(job.config.model); }),
      Derived("model-digest").Reads([](const JobRecord& job) {
        return Json(posix::Hex(job.model_digest));
      }),
      Row("initial-model",
          "begin with the parameters in this file: safetensors, NPZ or NPY as `sotto model export` "
          "writes them, or float32 LE of --model-out; a job keeps them, so a resumed one needs no "
          "file; epsilon does not cover the data that they were trained on")
          .In(Group::kTraining)
          .ByDefault("drawn anew, or zeros for a single dense layer")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.initial_model; })
          .Reads([](const JobRecord& job) {
            const std::vector<float>& initial = job.config.initial_parameters;
            return Json(ParametersDigest({initial.data(), initial.size()}));
          })
          .StoredIf(HasInitialModel)
          .Resumed(Resume::kKept),
      Row("mechanism",
          "gau-lrq: private; none: exact updates, NO PRIVACY; float32, qg, bq: baselines to "
          "compare with, in simulations only")
          .In(Group::kPrivacy)
          .OneOfNames(CodecNames())
          .ServedAsNames(ServableCodecNames())
          .Stands(
              Learns::kTask, [](auto& job) -> auto& { return job.codec; }),
      Row("coding",
          "how updates become bytes; range: near the entropy; fixed: the same number of bits for "
          "every coordinate")
          .In(Group::kPrivacy)
          .OneOf(Coding::kRange, Coding::kFixed)
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.job.coding; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.format().coding); }),
      Row("padding", "uploads are multiples of so many bytes: their length tells less; 0: none")
          .In(Group::kPrivacy)
          .Within({0, kMaxPadding})
          .Unit("bytes")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.job.padding; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.format().padding); }),
      Derived("seeded").Reads([](const JobRecord& job) { return ToJson(job.config.seeded); }),
  };
}

Fields Sampling() {
  return {
      Row("sampling",
          "uniform: exactly B without replacement, replace-one adjacency; poisson: each device "
          "with chance B/N, add/remove adjacency; full: all devices in every round, whatever "
          "--cohort, replace-one adjacency, nothing is amplified")
          .In(Group::kRounds)
          .OneOf(privacy::Sampling::kUniform, privacy::Sampling::kPoisson, privacy::Sampling::kFull)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.sampling; }),
      Derived("devices").OfPlan([](auto& plan) -> auto& { return plan.devices; }),
      Row("cohort", "devices drawn for a round, B; expected if Poisson")
          .In(Group::kRounds)
          .Within(kCount)
          .Unit("devices")
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.cohort; }),
      Derived("planned-reports").OfPlan([](auto& plan) -> auto& { return plan.planned_reports; }),
      Row("rounds", "rounds, K")
          .In(Group::kRounds)
          .Within(kCount)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.rounds; }),
      Derived("dimension").OfPlan([](auto& plan) -> auto& { return plan.dimension; }),
      Row("clip", "largest L2 norm of a device's update, C")
          .In(Group::kTraining)
          .Within(kFactor)
          .Unit("model units")
          .StoredAs("clip_l2")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.job.training.clip_l2; })
          .OfPlan([](auto& plan) -> auto& { return plan.clip_l2; }),
  };
}

Fields Noise() {
  return {
      Row("epsilon",
          "budget of the whole training; the noise is calibrated to it; inf: fine uniform dither "
          "instead of noise, NO PRIVACY")
          .In(Group::kPrivacy)
          .Within({0, kInfinity, true})
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.epsilon; }),
      Row("noise-multiplier",
          "deviation of the released sum's noise over its sensitivity (2C uniform, C Poisson), "
          "instead of --epsilon")
          .In(Group::kPrivacy)
          .Within({0, 1e9, true})
          .Excludes("epsilon")
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.noise_multiplier; }),
      Row("noise-sigma",
          "deviation of the noise of one device's update, per coordinate, instead of --epsilon and "
          "--noise-multiplier; of the first round, if rounds differ")
          .In(Group::kPrivacy)
          .Within({0, 1e9, true})
          .Unit("model units")
          .Excludes("epsilon")
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.noise_sigma; }),
      Derived("noise-sigma", Learns::kNoise).OfPlan([](auto& plan) -> auto& {
        return plan.noise_sigma;
      }),
      Row("noise-decay",
          "tau of the dynamic schedule of Gau-LRQ: the noise of round k, from 0, is that of the "
          "first times tau^(k/4). --epsilon scales the whole schedule until the sound epsilon "
          "meets "
          "the budget: that every tau costs the same (Lemma 4 of the paper) does not hold")
          .In(Group::kPrivacy)
          .Within({1e-6, 1})
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.schedule.noise_decay; })
          .StoredIf(HasNoiseDecay),
      Row("colluders", "participants assumed to tell their noise to the adversary")
          .In(Group::kPrivacy)
          .Within(kCountOrNone)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.colluders; }),
      Row("delta", "the other half of the budget")
          .In(Group::kPrivacy)
          .Within({1e-300, 0.5})
          .ByDefault("devices^-1.1")
          .Asked(
              Learns::kNoise, [](auto& request) -> auto& { return request.delta; })
          .OfPlan([](auto& plan) -> auto& { return plan.delta; }),
      Row("trust-mode",
          "trusted-server: the server can take the noise off an update; private-noise: each device "
          "adds noise of its own first")
          .In(Group::kPrivacy)
          .OneOf(privacy::TrustMode::kTrustedServer, privacy::TrustMode::kPrivateNoise)
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.trust_mode; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.plan.Trust()); })
          .StoredIf(IsPrivateNoise),
      Row("private-noise-multiplier",
          "deviation of a device's own noise over 2C, the sensitivity of one update")
          .In(Group::kPrivacy)
          .Within(kFactor)
          .Asked(
              Learns::kTask,
              [](auto& request) -> auto& { return request.private_noise_multiplier; })
          .OfPlan([](auto& plan) -> auto& { return plan.private_noise_multiplier; })
          .StoredIf(IsPrivateNoise),
      Derived("certificate-eta").OfPlan([](auto& plan) -> auto& { return plan.certificate.eta; }),
      Derived("certificate-tau").OfPlan([](auto& plan) -> auto& { return plan.certificate.tau; }),
      Derived("certificate-range").OfPlan([](auto& plan) -> auto& {
        return plan.certificate.range;
      }),
  };
}

Fields AdaptiveClip() {
  return {
      Row("adaptive-clip",
          "move C from round to round to a quantile of the devices' norms, learned from a noisy "
          "bit "
          "of each; --clip is the first round's")
          .In(Group::kTraining)
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.adaptive_clip; }),
      Derived("clip-bit-scale", Learns::kTask)
          .OfPlan([](auto& plan) -> auto& { return plan.clip_bit_scale; })
          .StoredIf(IsAdaptive),
      Row("clip-quantile", "share of the devices that C should not clip")
          .In(Group::kTraining)
          .Within({0, 1})
          .Needs("adaptive-clip")
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.clip_schedule.quantile; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.clip_schedule->quantile); })
          .StoredIf(IsAdaptive),
      Row("clip-learning-rate",
          "C is multiplied by exp(-this * (noisy share not clipped - quantile))")
          .In(Group::kTraining)
          .Within({1e-6, 10})
          .Needs("adaptive-clip")
          .Asked(
              Learns::kNothing,
              [](auto& request) -> auto& { return request.clip_schedule.learning_rate; })
          .Reads(
              [](const JobRecord& job) { return ToJson(job.config.clip_schedule->learning_rate); })
          .StoredIf(IsAdaptive),
      Row("clip-noise", "deviation of the noise on the number of devices not clipped")
          .In(Group::kTraining)
          .Within({1e-6, 1e9})
          .Unit("devices")
          .Needs("adaptive-clip")
          .ByDefault("cohort / 20, more if that would take above a tenth of the budget")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.clip_noise; }),
  };
}

Fields Evaluation() {
  return {
      Row("evaluate-on-devices",
          "learn each round how well the model does on the devices' held-out samples: a noisy "
          "number more from each, which takes its share of the privacy budget")
          .In(Group::kTraining)
          .Asked(
              Learns::kTask,
              [](auto& request) -> auto& { return request.job.evaluates_on_devices; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.evaluates_on_devices); })
          .StoredIf(EvaluatesOnDevices),
      Derived("accuracy-scale", Learns::kTask)
          .OfPlan([](auto& plan) -> auto& { return plan.accuracy_scale; })
          .StoredIf(EvaluatesOnDevices),
      Row("accuracy-noise", "deviation of the noise on the mean of the devices' accuracies")
          .In(Group::kTraining)
          .Within({1e-6, 1e3})
          .Needs("evaluate-on-devices")
          .ByDefault("0.05, more if that would take above a tenth of the budget")
          .Asked(
              Learns::kTask, [](auto& request) -> auto& { return request.accuracy_noise; }),
  };
}

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
          .Reads([](const JobRecord& job) { return ToJson(job.config.learning_rate_decay); }),
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

// The orders in which a tensor can be flattened.
std::vector<std::string> Orders() {
  std::vector<std::string> orders = {"natural"};
  std::string letters = "HIOW";
  do {
    orders.push_back(letters);
  } while (std::next_permutation(letters.begin(), letters.end()));
  return orders;
}

Fields Estimation() {
  return {
      Row("estimator",
          "how the noisy sum becomes an update: its mean; that, smoothed; or shrunk by what the "
          "noise tells")
          .In(Group::kRounds)
          .OneOfNames(EstimatorNames())
          .ByDefault("mean; laplacian with --smoothing")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.estimator; }),
      Row("smoothing",
          "Laplacian smoothing factor of DP-Fed-LS; helps when noise dominates; auto: a small one "
          "where it does, from the noise alone, else 0")
          .In(Group::kRounds)
          .Within(kFactorOrNone)
          .Stands(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.smoothing; })
          .OrWord(
              "auto", [](auto& request) -> auto& { return request.smoothing_auto; }),
      Row("smoothing-order",
          "order of the axes in which a tensor is flattened, outputs O, inputs I, rows H, columns "
          "W; natural: as parameters lie, OHWI; OIHW is PyTorch's")
          .In(Group::kRounds)
          .OneOfNames(Orders())
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.smoothing_order; }),
      Row("smoothing-axes",
          "1: along the flattened tensor; 2: along rows and columns of each kernel, and of the "
          "image that a dense layer sees")
          .In(Group::kRounds)
          .Within({1, 2})
          .ByDefault("1; with --smoothing auto 2 if there is an image")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.smoothing_axes; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.aggregation.smoothing_axes); })
          .StoredIf([](const JobConfig& job) { return job.aggregation.smoothing_axes != 1; }),
      Row("smoothing-image",
          "HEIGHTxWIDTH or HEIGHTxWIDTHxCHANNELS of a sample, for a model that does not know it")
          .In(Group::kRounds)
          .ByDefault("the model's")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.smoothing_image; }),
  };
}

Fields ServerOptimiser() {
  return {
      Row("server-optimiser", "how an update moves the model")
          .In(Group::kRounds)
          .OneOfNames(OptimiserNames())
          .StandsUnlessDefault(
              Learns::kNothing,
              [](auto& job) -> auto& { return job.aggregation.server_optimiser; }),
      Row("server-learning-rate", "factor of the update; adam needs a small one, for example 0.01")
          .In(Group::kRounds)
          .Within(kFactor)
          .Stands(
              Learns::kNothing,
              [](auto& job) -> auto& { return job.aggregation.server_learning_rate; }),
      Row("server-momentum", "of --server-optimiser momentum")
          .In(Group::kRounds)
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.server_momentum; }),
      Row("adam-beta1", "decay of adam's mean of updates")
          .In(Group::kRounds)
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.adam_beta1; }),
      Row("adam-beta2", "decay of adam's mean of their squares")
          .In(Group::kRounds)
          .Within(kBelowOne)
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.adam_beta2; }),
      Row("adam-epsilon", "added to the root of that mean")
          .In(Group::kRounds)
          .Within({1e-12, 1e6})
          .Unit("model units")
          .Needs("server-optimiser")
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.adam_epsilon; }),
      Row("average",
          "average of all models, kept beside the last one: none, uniform, or geometric:RATIO, in "
          "which each model has RATIO times the weight of the one before")
          .In(Group::kRounds)
          .StandsUnlessDefault(
              Learns::kNothing, [](auto& job) -> auto& { return job.aggregation.average; }),
  };
}

Fields ServerStep() {
  return {
      Row("min-devices",
          "if fewer of all devices, drawn or not, check in until the deadline, nothing is released "
          "and nothing charged")
          .In(Group::kRounds)
          .Within(kCountOrNone)
          .Unit("devices")
          .ByDefault("1, Poisson 0")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.min_devices; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.min_devices); }),
      Row("close-early",
          "a round ends as soon as its whole cohort has reported; the time of a release then tells "
          "who takes part: epsilon is that of an adversary who knows the participants, and is not "
          "amplified by sampling")
          .In(Group::kRounds)
          .StandsInPlan(
              Learns::kNoise, [](auto& plan) -> auto& { return plan.participants_known; }),
      Row("epsilon-budget",
          "no round starts that would take epsilon above this, earlier jobs on the same devices "
          "included")
          .In(Group::kPrivacy)
          .Within({1e-9, 1e300})
          .ByDefault("--epsilon; none with --noise-multiplier")
          .Asked(
              Learns::kNothing, [](auto& request) -> auto& { return request.epsilon_budget; })
          .Reads([](const JobRecord& job) { return ToJson(job.config.epsilon_budget); }),
      Row("threads", "0: one a processor; does not change the result")
          .In(Group::kRounds)
          .Within({0, 4096})
          .Stands(
              Learns::kNothing, [](auto& job) -> auto& { return job.threads; })
          .Resumed(Resume::kFree),
  };
}

Fields AllFields() {
  Fields all;
  for (const Fields& part :
       {ModelAndCode(), Sampling(), Noise(), AdaptiveClip(), Evaluation(), LocalTraining(),
        BoundFromSteps(), ServerOptimiser(), Estimation(), ServerStep()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

JobRequest::JobRequest() {
  job.model = FindModel("softmax-784-10");
  job.plan.cohort = 50;
  job.plan.rounds = 30;
  job.threads = 0;
}

const Fields& JobFields() {
  static const Fields kFields = AllFields();
  return kFields;
}

Json SpecificationToJson(const JobRequest& request, const JobConfig& job) {
  const JobRecord record = {{}, {}, job};
  Json json = Json::object();
  for (const Field<JobRequest>& field : JobFields()) {
    if (!field.is_option()) continue;
    const bool is_resolved = field.read && (!field.is_stored || field.is_stored(job));
    json[field.json_name()] = is_resolved ? field.read(record) : field.get(request);
  }
  return json;
}

}  // namespace sotto::server
