#include "spec/make_job.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>

#include "accounting/one_length.h"
#include "aggregate/smoothing.h"
#include "aggregate/tensors.h"
#include "export/parameters.h"
#include "plans/calibration.h"
#include "plans/statement.h"
#include "plans/turns.h"
#include "round/release.h"
#include "sotto/certificate.h"
#include "spec/job_spec.h"
#include "spec/threshold_bins.h"

namespace sotto::server {
namespace {

// The largest share of the privacy budget, as a part of 1 / z^2, that the clip bits or the
// accuracies take if their noise is not asked for. The noise of the updates then grows by 5.4 %.
constexpr double kMaxExtraShare = 0.1;
// The largest share if it is asked for. The training learns from the updates, so a larger share of
// the rest would be a mistake.
constexpr double kLargestExtraShare = 0.5;

void Require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// The request says how much noise, and not what it may cost.
bool HasNoise(const JobRequest& r) { return r.noise_multiplier || r.noise_sigma; }

void RequireStepsWithABound(const JobRequest& r) {
  const TrainingOptions& t = r.job.training;
  Require(t.local_steps > 0,
          "--clip-from-steps: the bound grows with the number of steps, which with epochs is a "
          "device's own; name it, by --local-steps");
  Require(t.gradient_clip > 0,
          "--clip-from-steps: without a bound on gradients, updates have none; name one, by "
          "--gradient-clip");
  Require(t.learning_rate > 0, "--clip-from-steps: --learning-rate 0 never leaves the model");
  Require(t.momentum == 0,
          "--clip-from-steps: no bound is derived for momentum, with which a step is longer than "
          "its gradient; leave --momentum out");
  Require(t.weight_decay == 0,
          "--clip-from-steps: no bound is derived for weight decay, whose step grows with the "
          "model; say --weight-decay 0");
}

void RequireFloor(const JobRequest& r, uint32_t devices) {
  const privacy::Plan& plan = r.job.plan;
  if (plan.device_floor == 0) return;
  Require(plan.sampling != privacy::Sampling::kPoisson,
          "--device-floor with --sampling poisson: each device is drawn with the same chance in a "
          "fleet of any size, so a smaller fleet costs at most as planned without a floor; leave "
          "--device-floor out");
  Require(plan.sampling == privacy::Sampling::kUniform,
          "--device-floor is for --sampling uniform: with passes and full no figure depends on the "
          "number of devices; leave --device-floor out");
  if (plan.device_floor < plan.cohort) {
    throw std::invalid_argument(fmt::format(
        "--device-floor {} is less than --cohort {}, the devices of a round; name at least {}",
        plan.device_floor, plan.cohort, plan.cohort));
  }
  if (plan.device_floor > int64_t{devices}) {
    throw std::invalid_argument(
        fmt::format("--device-floor {} is more than the {} devices with which the job begins; name "
                    "at most {}",
                    plan.device_floor, devices, devices));
  }
}

// Checks that JobConfig::Validate() cannot make, or would report later and without the options'
// names.
void RequirePlausible(const JobRequest& r, uint32_t devices) {
  RequireInRange(JobFields(), r);
  Require(!r.noise_sigma || !r.noise_multiplier,
          "--noise-sigma and --noise-multiplier both say how much noise; leave one out");
  const bool is_full = r.job.plan.sampling == privacy::Sampling::kFull;
  if (is_full && r.job.plan.cohort != JobRequest().job.plan.cohort &&
      r.job.plan.cohort != devices) {
    throw std::invalid_argument(
        fmt::format("--cohort {} with --sampling full, which takes all {} devices in every round; "
                    "leave --cohort out",
                    r.job.plan.cohort, devices));
  }
  if (!is_full && r.job.plan.cohort > devices) {
    throw std::invalid_argument(
        fmt::format("--cohort {} is more than the {} devices; draw at most all of them",
                    r.job.plan.cohort, devices));
  }
  RequireFloor(r, devices);
  const CodecInfo& codec = ResolveCodec(r);
  Require(
      !r.adaptive_clip || codec.certified,
      "--adaptive-clip reads a noisy bit, which only --mechanism gau-lrq with a finite --epsilon "
      "or --noise-multiplier carries; leave it out, or add noise");
  Require(
      !r.job.evaluates_on_devices || codec.certified,
      "--evaluate-on-devices reads a noisy number, which only --mechanism gau-lrq with a finite "
      "--epsilon or --noise-multiplier carries; leave it out, or add noise");
  const bool is_scheduled = r.clip_from_steps || !r.job.plan.schedule.IsConstant();
  Require(r.job.plan.schedule.IsConstant() || codec.noise,
          "--noise-decay needs noise: name a finite --epsilon, --noise-multiplier or "
          "--noise-sigma");
  Require(
      !is_scheduled || !r.adaptive_clip,
      "--adaptive-clip chooses the bound from the releases and the noise with it, --noise-decay "
      "and --clip-from-steps fix them beforehand; leave one out");
  Require(!is_scheduled || !r.job.evaluates_on_devices,
          "--evaluate-on-devices shares the noise of a round with the updates, by a share that "
          "rounds of different noise do not have; leave it, or --noise-decay and "
          "--clip-from-steps, out");
  if (r.clip_from_steps) RequireStepsWithABound(r);
  const bool is_private_noise = r.trust_mode == privacy::TrustMode::kPrivateNoise;
  Require(!is_private_noise || r.private_noise_multiplier.has_value(),
          "--trust-mode private-noise: say how much noise, by --private-noise-multiplier");
  Require(is_private_noise || !r.private_noise_multiplier.has_value(),
          "--private-noise-multiplier is for --trust-mode private-noise");
}

bool IsPasses(const JobRequest& r) { return r.job.plan.sampling == privacy::Sampling::kPasses; }

void RequirePasses(const JobRequest& r) {
  if (!IsPasses(r)) {
    Require(!r.participations, "--participations is for --sampling passes");
    Require(!r.quorum, "--quorum is for --sampling passes");
    Require(r.job.plan.order == privacy::Order::kConnected, "--order is for --sampling passes");
    Require(!r.deadlines, "--deadlines is for --sampling passes");
    return;
  }
  const bool is_fixed = r.job.plan.order == privacy::Order::kFixed;
  Require(!r.min_devices,
          "--min-devices counts devices that check in, and with --sampling passes none need to; "
          "name how many must report, by --quorum");
  Require(!is_fixed || !r.job.plan.participants_known,
          "--order fixed asks devices that may be away, so its rounds end at their deadlines; "
          "leave --close-early out, or say --order connected");
  Require(!is_fixed || r.quorum.value_or(0) == 0,
          "--order fixed releases every round: that few report would tell who is away; leave "
          "--quorum out, or say --order connected");
}

// The request with the numbers of a job of passes that nobody gave.
JobRequest WithPasses(JobRequest r, uint32_t devices) {
  RequirePasses(r);
  if (!IsPasses(r) || devices == 0) return r;
  constexpr int64_t kParticipations = 4;
  privacy::Plan& plan = r.job.plan;
  const bool is_connected = plan.order == privacy::Order::kConnected;
  plan.timed_reports = is_connected && !r.deadlines && !plan.participants_known;
  plan.participants_known = plan.participants_known || plan.timed_reports;
  if (!r.Has("cohort")) plan.cohort = privacy::DefaultCohort(devices);
  if (plan.cohort > int64_t{devices} || plan.cohort < 1) return r;  // refused later
  if (!r.participations && r.Has("rounds")) {
    r.participations = privacy::ParticipationsFor(plan.rounds, plan.cohort, devices);
  }
  plan.participations = r.participations.value_or(kParticipations);
  if (!r.Has("rounds")) {
    plan.rounds = privacy::RoundsFor(plan.participations, plan.cohort, devices);
  }
  return r;
}

// The plan without its noise.
privacy::Plan BarePlan(const JobRequest& r, uint32_t devices) {
  privacy::Plan plan = r.job.plan;
  plan.devices = devices;
  if (plan.sampling == privacy::Sampling::kFull) plan.cohort = devices;
  plan.planned_reports = plan.cohort;
  plan.dimension =
      r.job.model->parameters + (r.adaptive_clip ? 1 : 0) + (r.job.evaluates_on_devices ? 1 : 0);
  plan.clip_l2 = static_cast<double>(r.job.training.clip_l2);
  plan.clip_bit_scale = 0;
  plan.accuracy_scale = 0;
  plan.noise_sigma = 0;
  plan.delta = r.delta.value_or(privacy::DefaultDelta(devices));
  plan.private_noise_multiplier = r.private_noise_multiplier.value_or(0.0);
  plan.certificate = {kDitherEta, kDitherTau, kDitherRange};
  return plan;
}

privacy::Plan NoisyPlan(const JobRequest& r, const privacy::Plan& bare,
                        const std::vector<privacy::SpentRounds>& before) {
  if (r.noise_sigma) return privacy::PlanForNoiseSigma(bare, *r.noise_sigma).plan;
  if (r.noise_multiplier) {
    return privacy::PlanForNoiseMultiplier(bare, *r.noise_multiplier).plan;
  }
  if (bare.cohort <= bare.colluders) {
    throw std::invalid_argument(
        fmt::format("--cohort {} with --colluders {} leaves no noise that the colluders do not "
                    "know; draw more devices or assume fewer colluders",
                    bare.cohort, bare.colluders));
  }
  return privacy::PlanForEpsilon(bare, r.epsilon, before);
}

// Noise that a job asks for on the sum of the clip bits or of the accuracies.
struct ExtraNoise {
  const char* option;
  std::optional<double> asked;  // in the option's unit
  double unit = 1;              // devices
  double fallback = 0;          // devices
};

// The share of a plan's budget at which the sum has this noise.
double ShareOf(const ExtraNoise& noise, const privacy::Plan& plan) {
  const privacy::Adjacency adjacency = privacy::PairedAdjacency(plan.sampling);
  const double z = plan.NoiseMultiplier();
  const double least =
      privacy::SplitNoise(adjacency, z, noise.asked ? kLargestExtraShare : kMaxExtraShare)
          .bit_sum_deviation;
  if (noise.asked && *noise.asked * noise.unit < least) {
    throw std::invalid_argument(fmt::format(
        "{} {}: below {:.3g} it would take more of the privacy budget than the updates; allow more "
        "noise",
        noise.option, *noise.asked, least / noise.unit));
  }
  const double deviation =
      noise.asked ? *noise.asked * noise.unit : std::max(noise.fallback, least);
  return privacy::BitShare(adjacency, z, deviation);
}

// A calibrated plan with room in its budget for what travels beside the updates.
privacy::Plan WithExtras(const JobRequest& r, const privacy::Plan& plan) {
  const auto cohort = static_cast<double>(plan.cohort);
  const ExtraNoise bits = {"--clip-noise", r.clip_noise, 1, cohort / 20};
  const ExtraNoise accuracies = {"--accuracy-noise", r.accuracy_noise, cohort, cohort / 20};
  const double bit_share = r.adaptive_clip ? ShareOf(bits, plan) : 0;
  const double accuracy_share = r.job.evaluates_on_devices ? ShareOf(accuracies, plan) : 0;
  if (bit_share + accuracy_share > kLargestExtraShare) {
    throw std::invalid_argument(
        "--clip-noise and --accuracy-noise together would take more of the privacy budget than the "
        "updates; allow more noise");
  }
  if (bit_share + accuracy_share == 0) return plan;
  return privacy::WithExtras(plan, bit_share, accuracy_share);
}

privacy::Plan CalibratedPlan(const JobRequest& r, const privacy::Plan& bare,
                             const std::vector<privacy::SpentRounds>& before) {
  return RoundToDevice(WithExtras(r, NoisyPlan(r, bare, before)));
}

// Whether all updates are to have one length.
bool WantsOneLength(const JobRequest& r, const CodecInfo& codec) {
  const bool is_possible = codec.certified && r.trust_mode == privacy::TrustMode::kTrustedServer;
  if (r.one_length == OneLength::kOn) {
    Require(is_possible,
            "--one-length on: only updates of --mechanism gau-lrq with a finite --epsilon, without "
            "--trust-mode private-noise, have a length that is proved; leave it out");
    Require(!r.Has("padding"),
            "--one-length on gives all updates one length, so --padding has no effect; leave one "
            "of them out");
    return true;
  }
  return r.one_length == OneLength::kAuto && is_possible && IsPasses(r) && !r.Has("padding");
}

// The plan, calibrated anew: delta pays for updates that are too long.
privacy::Plan WithOneLength(const JobRequest& r, privacy::Plan bare, const privacy::Plan& plan,
                            const std::vector<privacy::SpentRounds>& before) {
  constexpr double kLargestEpsilon = 100;
  const double epsilon =
      privacy::Account(plan, plan.rounds, before)
          .EpsilonOf(privacy::Adversary::kNetwork, privacy::View::kReleasesAndParticipants);
  if (!(epsilon <= kLargestEpsilon)) {
    Require(r.one_length != OneLength::kOn,
            "--one-length on: epsilon against an observer of the network is above 100, and no "
            "length is so seldom exceeded; leave it out, or add noise");
    return plan;
  }
  const double updates =
      privacy::UpdatesOfOneLength(plan.planned_reports, plan.ChargedRounds(plan.rounds));
  bare.too_long = privacy::ProbabilityOfTooLong(epsilon, bare.delta, privacy::kDeltaShare, updates);
  return CalibratedPlan(r, bare, before);
}

void BoundBySteps(JobConfig* job) {
  privacy::Plan& plan = job->plan;
  plan.schedule.bound = job->BoundFromSteps();
  plan.schedule.Validate(plan.rounds);
  job->training.clip_l2 = FloatAtLeast(privacy::BoundOf(plan.schedule.bound, 0));
  plan.clip_l2 = static_cast<double>(job->training.clip_l2);
}

double LearningRateDecay(const JobRequest& r) {
  const bool is_constant = r.job.learning_rate_schedule == privacy::LearningRateSchedule::kConstant;
  return r.learning_rate_decay.value_or(is_constant ? 0.99 : 1.0);
}

int Threads(int asked) {
  return asked != 0 ? asked : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

bool HasImages(const JobConfig& job) {
  const std::vector<TrainedTensor> tensors =
      TrainedTensors(*job.model, job.aggregation.smoothing_image);
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const TrainedTensor& tensor) { return tensor.has_image(); });
}

void ResolveSmoothing(const JobRequest& r, JobConfig* job) {
  AggregationOptions& options = job->aggregation;
  options.smoothing_axes = r.smoothing_axes.value_or(r.smoothing_auto && HasImages(*job) ? 2 : 1);
  if (!r.smoothing_auto) return;
  const double noise =
      MeanNoiseSigma(*job, job->TaskFor(0, job->training.clip_l2), job->plan.ExpectedCohort());
  options.smoothing = AutoSmoothing(*job->model, noise, job->plan.clip_l2);
}

}  // namespace

const CodecInfo& ResolveCodec(const JobRequest& r) {
  const CodecInfo& codec = *r.job.codec;
  const bool is_unlimited = !HasNoise(r) && std::isinf(r.epsilon) && r.epsilon > 0;
  if (!is_unlimited) return codec;
  if (codec.without_noise != nullptr) return RequireCodec(codec.without_noise);
  throw std::invalid_argument(fmt::format(
      "--mechanism {} adds noise: give a finite --epsilon, or --noise-multiplier", codec.name));
}

int64_t RoundsOf(const JobRequest& request, uint32_t devices) {
  return WithPasses(request, devices).job.plan.rounds;
}

JobConfig MakeJob(const JobRequest& asked, uint32_t devices,
                  const std::vector<privacy::SpentRounds>& before) {
  const JobRequest r = WithPasses(asked, devices);
  RequirePlausible(r, devices);
  JobConfig job = r.job;
  job.codec = &ResolveCodec(r);
  job.initial_parameters.clear();
  if (r.initial_model) job.initial_parameters = ReadParameters(*r.initial_model, *r.job.model);
  job.learning_rate_decay = LearningRateDecay(r);
  job.plan = BarePlan(r, devices);
  if (r.clip_from_steps) BoundBySteps(&job);
  job.spent_before.clear();
  job.epsilon_budget = std::numeric_limits<double>::infinity();
  const bool is_poisson = job.plan.sampling == privacy::Sampling::kPoisson;
  const bool has_one_length = WantsOneLength(r, *job.codec);
  if (job.codec->noise) {
    const privacy::Plan bare = job.plan;
    job.plan = CalibratedPlan(r, bare, before);
    if (has_one_length) job.plan = WithOneLength(r, bare, job.plan, before);
    if (!HasNoise(r)) job.epsilon_budget = r.epsilon;
    if (r.epsilon_budget) job.epsilon_budget = *r.epsilon_budget;
    job.spent_before = before;
  } else if (is_poisson) {
    job.plan.planned_reports = job.plan.devices;
  }
  ResolveSmoothing(r, &job);
  job.clip_schedule.reset();
  if (r.adaptive_clip) job.clip_schedule = r.clip_schedule;
  const bool needs_none = IsPasses(r) || (is_poisson && job.codec->noise);
  job.min_devices = r.min_devices.value_or(needs_none ? 0 : 1);
  const bool has_quorum = IsPasses(r) && job.plan.order == privacy::Order::kConnected;
  job.quorum = r.quorum.value_or(has_quorum ? 1 : 0);
  job.process.threads = Threads(r.job.process.threads);
  job.update_length = job.plan.too_long > 0 ? job.LeastLength() : 0;
  AskForThreshold(&job);
  job.Validate();
  return job;
}

}  // namespace sotto::server
