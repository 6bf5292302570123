#include "round/job_config.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>

#include "aggregate/methods.h"
#include "aggregate/tensors.h"
#include "base/names.h"
#include "codec/length_bound.h"
#include "sotto/num.h"
#include "sotto/update_scale.h"

namespace sotto {

using privacy::Named;
using privacy::NameIn;

const char* Name(Coding coding) {
  constexpr Named<Coding> kNames[] = {
      {Coding::kRange, "range"}, {Coding::kFixed, "fixed"}, {Coding::kFloat32, "float32"}};
  return NameIn(kNames, coding);
}

const char* Name(Clipping clipping) {
  constexpr Named<Clipping> kNames[] = {{Clipping::kEveryStep, "every-step"},
                                        {Clipping::kAtEnd, "at-end"}};
  return NameIn(kNames, clipping);
}

const char* Name(Batches batches) {
  constexpr Named<Batches> kNames[] = {{Batches::kPasses, "passes"},
                                       {Batches::kWithReplacement, "with-replacement"}};
  return NameIn(kNames, batches);
}

const char* Name(GradientClipOf of) {
  constexpr Named<GradientClipOf> kNames[] = {{GradientClipOf::kBatch, "batch"},
                                              {GradientClipOf::kSample, "sample"}};
  return NameIn(kNames, of);
}

const char* Name(ClipByLayer by) {
  constexpr Named<ClipByLayer> kNames[] = {
      {ClipByLayer::kNone, "none"}, {ClipByLayer::kEqual, "equal"}, {ClipByLayer::kSize, "size"}};
  return NameIn(kNames, by);
}

}  // namespace sotto

namespace sotto::server {
namespace {

// The quantizer's scale with uniform dither, as a share of clip_l2. The largest value that the
// format carries is then clip_l2.
constexpr float kUniformScaleOfClip = 1.0F / 1024;

// The range in which adaptive clipping keeps the bound, model units. It is well within the range of
// float32, and its ends are far from the bounds with which a model trains.
constexpr double kMinAdaptiveClip = 1e-6;
constexpr double kMaxAdaptiveClip = 1e6;

void Require(bool condition, const std::string& message) {
  if (!condition) throw std::invalid_argument(message);
}

// The least private_noise_q20 whose multiplier, as a device computes it from the task, is at least
// z. It is kMaxPrivateNoiseQ20 + 1, which no device accepts, if no accepted value reaches z.
uint32_t PrivateNoiseFor(double z, TrainTask task) {
  if (z == 0) return 0;
  task.private_noise_q20 = 1;
  const double multiplier_of_one = task.private_noise_multiplier();
  if (z >= multiplier_of_one * kMaxPrivateNoiseQ20) return kMaxPrivateNoiseQ20 + 1;
  task.private_noise_q20 = static_cast<uint32_t>(std::max(1.0, std::floor(z / multiplier_of_one)));
  while (task.private_noise_multiplier() < z) ++task.private_noise_q20;
  return task.private_noise_q20;
}

static_assert(static_cast<int>(privacy::Power::kHalf) == static_cast<int>(RatePower::kHalf));
static_assert(static_cast<int>(privacy::Power::kOne) == static_cast<int>(RatePower::kOne));
RatePower ToDevice(privacy::Power power) { return static_cast<RatePower>(power); }

int64_t SharedLayers(const ModelInfo& model) {
  return std::count_if(model.layers.begin(), model.layers.end(),
                       [](const nn::LayerPlan& layer) { return layer.shared() > 0; });
}

// Half a scale in units of sigma, Q20.
uint32_t HalfInUnitsOf(double sigma, double scale) {
  // The factor outweighs the rounding of the quotient, so the result is not above the exact floor.
  const double units = scale / 2 / sigma * (1 - 0x1p-50);
  return static_cast<uint32_t>(std::ldexp(units, 20));
}

}  // namespace

uint32_t JobConfig::coordinates() const {
  return model->parameters + (clip_schedule ? 1 : 0) + (evaluates_on_devices ? 1 : 0);
}

uint32_t JobConfig::ClipBitQ20() const {
  return clip_schedule ? HalfInUnitsOf(plan.noise_sigma, plan.clip_bit_scale) : 0;
}

uint32_t JobConfig::AccuracyQ20() const {
  return evaluates_on_devices ? HalfInUnitsOf(plan.noise_sigma, plan.accuracy_scale) : 0;
}

float JobConfig::ClipFor(uint32_t round) const {
  return FloatAtLeast(plan.clip_l2 * plan.schedule.TermsOf(round).clip_factor);
}

float JobConfig::NoiseSigmaFor(float clip_l2, uint32_t round) const {
  const double clip = static_cast<double>(clip_l2);
  const double ratio = plan.schedule.TermsOf(round).noise_per_clip();
  auto sigma = static_cast<float>(plan.noise_sigma * (clip / plan.clip_l2) * ratio);
  // sigma / clip >= ratio plan.noise_sigma / plan.clip_l2: products of two float32 values are
  // exact, and kArithmeticMargin covers the rounding of the third factor.
  while (static_cast<double>(sigma) * plan.clip_l2 < plan.noise_sigma * clip * ratio) {
    sigma = std::nextafter(sigma, std::numeric_limits<float>::infinity());
  }
  return sigma;
}

uint32_t JobConfig::LeastNoisyRound() const {
  if (plan.schedule.IsConstant()) return 0;
  uint32_t least = 0;
  double least_ratio = 1.0;  // of round 0
  for (uint32_t round = 1; round < plan.rounds; ++round) {
    const double ratio = plan.schedule.TermsOf(round).noise_per_clip();
    if (ratio < least_ratio) {
      least = round;
      least_ratio = ratio;
    }
  }
  return least;
}

uint32_t JobConfig::LeastLength() const {
  const uint32_t round = LeastNoisyRound();
  return LengthFor(TaskFor(round, ClipFor(round)), model->parameters, plan.too_long);
}

void JobConfig::RequireOneLength() const {
  Require(update_length <= kMaxLength, "the one length of updates is at most 2^27 bytes");
  Require(update_length == 0 || plan.Trust() == privacy::TrustMode::kTrustedServer,
          "updates with private noise have no one length: epsilon_server covers their lengths");
  if (plan.too_long == 0) return;
  Require(codec->certified && update_length > 0,
          "the plan charges for updates of one length, but the job has no such length");
  const uint32_t least = LeastLength();
  Require(update_length >= least,
          fmt::format("a round of this job has too little noise for the job's one length of {} "
                      "bytes: it needs {}; leave --rounds as it was, or begin another job",
                      update_length, least));
}

float JobConfig::NextClip(float clip_l2, int64_t bit_sum, double cohort, double* fraction) const {
  const double bits = static_cast<double>(bit_sum) / (2.0 * ClipBitQ20());
  *fraction = privacy::UnclippedFraction(bits, cohort);
  const double next = privacy::NextClip(static_cast<double>(clip_l2), *fraction, *clip_schedule);
  return static_cast<float>(std::clamp(next, kMinAdaptiveClip, kMaxAdaptiveClip));
}

privacy::AccuracyEstimate JobConfig::EstimateAccuracy(int64_t accuracy_sum,
                                                      const privacy::Plan& of_round) const {
  return privacy::EstimateAccuracy(of_round,
                                   static_cast<double>(accuracy_sum) / (2.0 * AccuracyQ20()));
}

TrainTask JobConfig::TaskFor(uint32_t round, float clip_l2) const {
  TrainTask task;
  task.round = round;
  task.format = format();
  task.quantizer_scale =
      codec->noise ? NoiseSigmaFor(clip_l2, round) : clip_l2 * kUniformScaleOfClip;
  task.clip_bit_q20 = ClipBitQ20();
  task.accuracy_q20 = AccuracyQ20();
  task.training = training;
  task.training.clip_l2 = clip_l2;
  task.private_noise_q20 = PrivateNoiseFor(plan.private_noise_multiplier, task);
  const privacy::RateInRound rate = LearningRates().InRound(round, training.local_steps);
  task.training.learning_rate = static_cast<float>(rate.learning_rate);
  task.training.rate_first = static_cast<uint32_t>(rate.first);
  task.training.rate_power = ToDevice(rate.power);
  if (MeasuresErrors(round)) {
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "as the edges travel");
    task.error_edges = ErrorEdges(
        {reinterpret_cast<const uint8_t*>(error_edges.data()), sizeof(float) * error_edges.size()});
  }
  return task;
}

void JobConfig::RequireTrainable() const {
  Require(training.Validate() == Status::kOk,
          "local training: epochs and batch size are 1 to 65535, steps at most 65535, the learning "
          "rate, the weight decay and the proximal factor are finite and not negative, the "
          "momentum is in [0, 1), the clipping bound is finite and positive, the gradient clip is "
          "0 or from 1e-9 on");
  Require(
      training.clip_by_layer == ClipByLayer::kNone || SharedLayers(*model) > 1,
      fmt::format("model {} has one layer to train: --clip-by-layer would change nothing; leave "
                  "it out, or name a model with more layers",
                  model->name));
  // See server/PRIVACY.md, "Personal layers".
  Require(
      model->personal == 0 || !codec->noise || plan.sampling != privacy::Sampling::kUniform,
      fmt::format("model {} has personal layers, whose values remember in which rounds a device "
                  "took part; no epsilon of --sampling uniform covers that: take passes, "
                  "poisson or full",
                  model->name));
  Require(training.momentum == 0 || model->has_momentum,
          fmt::format("model {} trains without momentum: leave --momentum out, or name a model "
                      "that trains in float32",
                      model->name));
  Require(
      (training.gradient_clip == 0 && training.proximal == 0) || model->has_gradient_options,
      fmt::format("model {} trains without gradient clip and proximal term: leave --gradient-clip "
                  "and --proximal out, or name a model that trains in float32",
                  model->name));
  Require(training.rate_first == 0,
          "the job's schedule sets the learning rate of a step: leave rate_first 0");
  Require(learning_rate_decay > 0 && learning_rate_decay <= 1,
          "the learning rate's decay is in (0, 1]");
  if (!LearningRates().CountsAllSteps()) return;
  Require(training.local_steps > 0,
          fmt::format("--learning-rate-schedule {} counts the steps of all rounds: say how many a "
                      "round has, by --local-steps",
                      Name(learning_rate_schedule)));
  Require(plan.rounds * int64_t{training.local_steps} < int64_t{1} << 31,
          fmt::format("--learning-rate-schedule {} counts at most 2^31 steps: lower --rounds or "
                      "--local-steps",
                      Name(learning_rate_schedule)));
}

void JobConfig::RequireBoundFromSteps() const {
  const privacy::StepBound& bound = plan.schedule.bound;
  if (!bound.IsSet()) return;
  const privacy::StepBound trained = BoundFromSteps();
  Require(bound.gradient_clip == trained.gradient_clip && bound.proximal == trained.proximal &&
              bound.steps == trained.steps && bound.rate.base == trained.rate.base &&
              bound.rate.decay == trained.rate.decay &&
              bound.rate.schedule == trained.rate.schedule,
          "the plan's bound follows from another local training than the job's");
  Require(training.momentum == 0 && training.weight_decay == 0,
          "a bound that follows from local steps covers neither momentum nor weight decay");
  for (uint32_t round = 0; round < plan.rounds; ++round) {
    Require(std::isfinite(ClipFor(round)),
            "the bound that follows from the local steps has no end: lower --proximal or the "
            "learning rate until their product is at most 2");
  }
}

void JobConfig::RequireAdaptable() const {
  Require(clip_schedule.has_value() == (plan.clip_bit_scale != 0),
          "adaptive clipping needs a schedule and room for its bit in the plan: one is missing");
  if (!clip_schedule) return;
  clip_schedule->Validate();
  Require(codec->certified, "adaptive clipping reads a noisy bit, which only gau-lrq carries");
  Require(plan.clip_l2 >= kMinAdaptiveClip && plan.clip_l2 <= kMaxAdaptiveClip,
          "adaptive clipping starts from a bound in [1e-6, 1e6]");
  Require(plan.clip_bit_scale > 0 && plan.clip_bit_scale / 2 <= 1024 * plan.noise_sigma &&
              ClipBitQ20() >= 1,
          "adaptive clipping's bit is at most 1024 and at least 2^-20 of the noise's deviation");
}

void JobConfig::RequireEvaluable() const {
  Require(evaluates_on_devices == (plan.accuracy_scale != 0),
          "evaluation on devices needs room for the accuracy in the plan, and the reverse");
  if (!evaluates_on_devices) return;
  Require(codec->certified,
          "evaluation on devices reads a noisy number, which only gau-lrq carries");
  Require(model->classes > 0,
          fmt::format("model {} tells no classes apart: devices have no accuracy to evaluate",
                      model->name));
  Require(plan.accuracy_scale > 0 && plan.accuracy_scale / 2 <= 1024 * plan.noise_sigma &&
              AccuracyQ20() >= 1,
          "the accuracy's scale is at most 1024 and at least 2^-20 of the noise's deviation");
}

void JobConfig::RequireMeasurable() const {
  if (error_edges.empty()) return;
  Require(error_edges.size() <= kMaxErrorEdges && error_edges.size() < model->parameters,
          fmt::format("--threshold-bins: at most {} edges, and fewer than the {} parameters of "
                      "model {}, whose places the bins take",
                      kMaxErrorEdges, model->parameters, model->name));
  Require(IsPositiveNormal(error_edges.front()) && std::isfinite(error_edges.back()) &&
              std::adjacent_find(error_edges.begin(), error_edges.end(), std::greater_equal<>()) ==
                  error_edges.end(),
          "--threshold-bins: the edges rise, are finite and above 0");
  Require(model->loss.kind == nn::LossKind::kMeanSquaredError && model->personal == 0,
          "--threshold-bins: the model has no prediction errors that the server could know");
  Require(plan.rounds >= 2, "--threshold-bins: the last round measures, and there is no other one");
}

void JobConfig::Validate() const {
  Require(model != nullptr, "a job needs a model");
  Require(initial_parameters.empty() || initial_parameters.size() == model->parameters,
          "the initial model has another number of parameters than the model");
  Require(std::all_of(initial_parameters.begin(), initial_parameters.end(),
                      [](float value) { return std::isfinite(value); }),
          "the initial model has a parameter that is not finite");
  RequireTrainable();
  Require(coding == Coding::kRange || coding == Coding::kFixed, "the coding is range or fixed");
  Require(padding <= kMaxPadding, "updates are padded to multiples of at most 4096 bytes");
  Require(static_cast<double>(training.clip_l2) == plan.clip_l2,
          "the plan's and the devices' clipping bounds differ");
  const std::vector<TrainedTensor> tensors = TrainedTensors(*model, aggregation.smoothing_image);
  MakeEstimator(aggregation)->RequireUseful({tensors.data(), tensors.size()});
  MakeOptimiser(aggregation);
  Require(min_devices <= plan.devices,
          fmt::format("{} devices must check in (--min-devices), and there are only {}",
                      min_devices, plan.devices));
  // Under add/remove adjacency the number of devices that check in reveals whether one more exists.
  Require(
      !codec->noise || plan.sampling != privacy::Sampling::kPoisson || min_devices == 0,
      "Poisson sampling releases every round: the least number of devices that check in must be 0");
  const bool is_passes = plan.sampling == privacy::Sampling::kPasses;
  Require(quorum == 0 || (is_passes && plan.order == privacy::Order::kConnected),
          "a quorum is for passes in the order connected: to give an attempt up because few report "
          "would tell who was drawn, or who is there");
  Require(quorum <= plan.cohort,
          fmt::format("--quorum {} is more than the cohort of {}", quorum, plan.cohort));
  Require(!is_passes || plan.participations >= 1,
          "a job of passes says in how many rounds a device takes part at most");
  Require(epsilon_budget > 0, "the privacy budget is positive");
  Require(process.threads >= 1, "at least one thread is needed");
  Require(plan.devices >= 1 && plan.cohort >= 1 && plan.cohort <= plan.devices && plan.rounds >= 1,
          "a job has devices, a cohort of at least one and at most all of them, and rounds");
  Require(coordinates() <= kMaxParameters, "the model has more parameters than an update can");
  Require(process.max_attempts >= 1, "a round has at least one attempt");
  RequireBoundFromSteps();
  RequireAdaptable();
  RequireEvaluable();
  RequireMeasurable();
  if (codec->noise) {
    plan.Validate();
    Require(plan.dimension == coordinates(),
            "the plan's dimension must be the model's number of parameters, plus one for adaptive "
            "clipping and one for evaluation on devices");
    Require(static_cast<double>(static_cast<float>(plan.noise_sigma)) == plan.noise_sigma,
            "the noise must be a float32 value; see RoundToDevice()");
    // For codecs that hand over float32 no task says this.
    const double least =
        plan.schedule.TermsOf(LeastNoisyRound()).noise_per_clip() * plan.noise_sigma;
    Require(plan.clip_l2 <= static_cast<double>(kMaxClipInScales) * least,
            fmt::format("the noise of an update has deviation {:g}, below 2^-20 of the clipping "
                        "bound {:g}; raise the noise, or train without it: --epsilon inf",
                        least, plan.clip_l2));
  }
  // TrainTask::Validate() alone decides which combinations devices accept.
  const uint32_t least_noisy = LeastNoisyRound();
  Require(
      TaskFor(least_noisy, ClipFor(least_noisy)).Validate() == Status::kOk,
      "no device adds this private noise: it needs gau-lrq without --adaptive-clip and "
      "--evaluate-on-devices; its deviation, 2 C z, must be below 64 times gau-lrq's deviation, "
      "and C at most 128 times; lower --private-noise-multiplier or raise gau-lrq's noise, or "
      "leave --trust-mode out");
  RequireOneLength();
}

float FloatAtLeast(double value) {
  const auto rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) >= value) return rounded;
  return std::nextafter(rounded, std::numeric_limits<float>::infinity());
}

privacy::Plan RoundToDevice(privacy::Plan plan) {
  plan.clip_l2 = static_cast<double>(static_cast<float>(plan.clip_l2));
  plan.noise_sigma = static_cast<double>(FloatAtLeast(plan.noise_sigma));
  return plan;
}

}  // namespace sotto::server
