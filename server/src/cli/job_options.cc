#include "cli/job_options.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <stdexcept>
#include <thread>

#include <CLI/CLI.hpp>

#include "cli/in_range.h"
#include "plans/calibration.h"
#include "sotto/certificate.h"
#include "sotto/models.h"

namespace sotto::server {
namespace {

// The most of the privacy budget, as a part of 1 / z^2, that adaptive clipping's bits take unless
// told: the updates' noise grows by 5.4 %.
constexpr double kMaxBitShare = 0.1;
// With --clip-noise: more would be a mistake, as what is learned are the updates.
constexpr double kLargestBitShare = 0.5;

constexpr char kRounds[] = "Rounds";
constexpr char kTraining[] = "Training";
constexpr char kPrivacy[] = "Privacy";

void AddRoundOptions(CLI::App& command, JobOptions& o) {
  command.add_option("--model", o.model, "model by name")->capture_default_str()->group(kRounds);
  command.add_option("--rounds", o.rounds, "rounds, K")
      ->capture_default_str()
      ->check(InRange(1U, 1000000U))
      ->group(kRounds);
  command.add_option("--cohort", o.cohort, "devices drawn for a round, B; expected if Poisson")
      ->capture_default_str()
      ->check(InRange(1U, 1000000U))
      ->group(kRounds);
  command
      .add_option("--sampling", o.sampling,
                  "uniform: exactly B without replacement, replace-one adjacency; "
                  "poisson: each device with chance B/N, add/remove adjacency")
      ->capture_default_str()
      ->check(CLI::IsMember({"uniform", "poisson"}))
      ->group(kRounds);
  command
      .add_option("--min-devices", o.min_devices,
                  "if fewer of all devices, drawn or not, come by until the deadline, nothing is "
                  "released and nothing charged (default: 1, Poisson 0)")
      ->check(InRange(0U, 1000000U))
      ->group(kRounds);
  command
      .add_option("--server-learning-rate", o.server_learning_rate, "factor of the averaged update")
      ->capture_default_str()
      ->check(InRange(1e-6, 1e6))
      ->group(kRounds);
  command
      .add_option("--smoothing", o.smoothing,
                  "Laplacian smoothing factor of DP-Fed-LS; helps when noise dominates")
      ->capture_default_str()
      ->check(InRange(0.0, 1e6))
      ->group(kRounds);
  command.add_option("--threads", o.threads, "0: one a processor; does not change the result")
      ->capture_default_str()
      ->check(InRange(0, 4096))
      ->group(kRounds);
}

void AddTrainingOptions(CLI::App& command, JobOptions& o) {
  command.add_option("--local-epochs", o.local_epochs, "passes over a device's samples")
      ->capture_default_str()
      ->check(InRange(1U, 65535U))
      ->group(kTraining);
  command.add_option("--batch-size", o.batch_size, "samples in a mini-batch")
      ->capture_default_str()
      ->check(InRange(1U, 65535U))
      ->group(kTraining);
  command.add_option("--learning-rate", o.learning_rate, "of local SGD in the first round")
      ->capture_default_str()
      ->check(InRange(0.0, 1e6))
      ->group(kTraining);
  command.add_option("--learning-rate-decay", o.learning_rate_decay, "factor from round to round")
      ->capture_default_str()
      ->check(InRange(1e-6, 1.0))
      ->group(kTraining);
  command.add_option("--weight-decay", o.weight_decay, "L2 regularisation")
      ->capture_default_str()
      ->check(InRange(0.0, 1e6))
      ->group(kTraining);
  command.add_option("--clip", o.clip, "largest L2 norm of a device's update, C")
      ->capture_default_str()
      ->check(InRange(1e-6, 1e6))
      ->group(kTraining);
  command
      .add_option("--clipping", o.clipping,
                  "every-step: project after each local step; at-end: scale the update")
      ->capture_default_str()
      ->check(CLI::IsMember({"every-step", "at-end"}))
      ->group(kTraining);
}

void AddClippingOptions(CLI::App& command, JobOptions& o) {
  CLI::Option* adaptive =
      command
          .add_flag("--adaptive-clip", o.adaptive_clip,
                    "move C from round to round to a quantile of the devices' norms, learned from "
                    "a noisy bit of each; --clip is the first round's")
          ->group(kTraining);
  command
      .add_option("--clip-quantile", o.clip_quantile, "share of the devices that C should not clip")
      ->capture_default_str()
      ->check(InRange(0.0, 1.0))
      ->needs(adaptive)
      ->group(kTraining);
  command
      .add_option("--clip-learning-rate", o.clip_learning_rate,
                  "C is multiplied by exp(-this * (noisy share not clipped - quantile))")
      ->capture_default_str()
      ->check(InRange(1e-6, 10.0))
      ->needs(adaptive)
      ->group(kTraining);
  command
      .add_option("--clip-noise", o.clip_noise,
                  "deviation of the noise on the number of devices not clipped (default: cohort / "
                  "20, more if that would take above a tenth of the budget)")
      ->check(InRange(1e-6, 1e9))
      ->needs(adaptive)
      ->group(kTraining);
}

void AddTrustOptions(CLI::App& command, JobOptions& o) {
  command
      .add_option(
          "--trust-mode", o.trust_mode,
          "trusted-server: the server can take the noise off an update; private-noise: each "
          "device adds noise of its own first")
      ->capture_default_str()
      ->check(CLI::IsMember({"trusted-server", "private-noise"}))
      ->group(kPrivacy);
  command
      .add_option("--private-noise-multiplier", o.private_noise_multiplier,
                  "deviation of a device's own noise over 2C, the sensitivity of one update")
      ->check(InRange(1e-6, 1e6))
      ->group(kPrivacy);
}

void AddPrivacyOptions(CLI::App& command, JobOptions& o) {
  command
      .add_option("--mechanism", o.mechanism,
                  "gau-lrq: private; none: exact updates, NO PRIVACY; float32, qg, bq: baselines "
                  "to compare with, in simulations only")
      ->capture_default_str()
      ->check(CLI::IsMember(CodecNames()))
      ->group(kPrivacy);
  command
      .add_option("--coding", o.coding,
                  "how updates become bytes; range: near the entropy; fixed: the same number of "
                  "bits for every coordinate")
      ->capture_default_str()
      ->check(CLI::IsMember({"range", "fixed"}))
      ->group(kPrivacy);
  command
      .add_option("--padding", o.padding,
                  "uploads are multiples of so many bytes: their length tells less; 0: none")
      ->capture_default_str()
      ->check(InRange(0U, kMaxPadding))
      ->group(kPrivacy);
  CLI::Option* epsilon =
      command
          .add_option("--epsilon", o.epsilon,
                      "budget of the whole training; the noise is calibrated to it; inf: fine "
                      "uniform dither instead of noise, NO PRIVACY")
          ->capture_default_str()
          ->group(kPrivacy);
  command
      .add_option("--noise-multiplier", o.noise_multiplier,
                  "deviation of the released sum's noise over its sensitivity (2C uniform, C "
                  "Poisson), instead of --epsilon")
      ->excludes(epsilon)
      ->group(kPrivacy);
  command
      .add_option("--epsilon-budget", o.epsilon_budget,
                  "no round starts that would take epsilon above this, earlier jobs on the same "
                  "devices included (default: --epsilon; none with --noise-multiplier)")
      ->check(InRange(1e-9, 1e300))
      ->group(kPrivacy);
  command.add_option("--delta", o.delta, "the other half of the budget (default: devices^-1.1)")
      ->check(InRange(1e-300, 0.5))
      ->group(kPrivacy);
  command
      .add_option("--colluders", o.colluders,
                  "participants assumed to tell their noise to the adversary")
      ->capture_default_str()
      ->check(InRange(0U, 1000000U))
      ->group(kPrivacy);
  AddTrustOptions(command, o);
}

privacy::Plan BarePlan(const JobOptions& o, const ModelInfo& model, uint32_t devices) {
  privacy::Plan plan;
  plan.sampling =
      o.sampling == "poisson" ? privacy::Sampling::kPoisson : privacy::Sampling::kUniform;
  plan.devices = devices;
  plan.cohort = o.cohort;
  plan.planned_reports = o.cohort;
  plan.rounds = o.rounds;
  plan.dimension = model.parameters + (o.adaptive_clip ? 1 : 0);
  plan.clip_l2 = o.clip;
  plan.colluders = o.colluders;
  plan.delta = o.delta.value_or(std::pow(devices, -1.1));
  plan.certificate = {kDitherEta, kDitherTau, kDitherRange};
  plan.private_noise_multiplier = o.private_noise_multiplier.value_or(0.0);
  return RoundToDevice(plan);
}

// Makes room for adaptive clipping's bits in the budget of a calibrated plan.
privacy::Plan WithClipBits(const JobOptions& o, const privacy::Plan& plan) {
  const privacy::Adjacency adjacency = privacy::PairedAdjacency(plan.sampling);
  const double z = plan.NoiseMultiplier();
  const double least =
      privacy::SplitNoise(adjacency, z, o.clip_noise ? kLargestBitShare : kMaxBitShare)
          .bit_sum_deviation;
  if (o.clip_noise && *o.clip_noise < least) {
    throw std::invalid_argument(fmt::format(
        "--clip-noise {}: below {:.3g} the bits would take more of the privacy budget than the "
        "updates; allow them more noise",
        *o.clip_noise, least));
  }
  const double deviation = o.clip_noise.value_or(std::max(o.cohort / 20.0, least));
  return privacy::WithClipBit(plan, privacy::BitShare(adjacency, z, deviation));
}

privacy::Plan NoisyPlan(const JobOptions& o, const privacy::Plan& bare,
                        const std::vector<privacy::SpentRounds>& before) {
  if (o.noise_multiplier) {
    return privacy::PlanForNoiseMultiplier(bare, *o.noise_multiplier).plan;
  }
  if (o.cohort <= o.colluders) {
    throw std::invalid_argument(fmt::format(
        "--cohort {} with --colluders {} leaves no noise that the colluders do not know; "
        "draw more devices or assume fewer colluders",
        o.cohort, o.colluders));
  }
  return privacy::PlanForEpsilon(bare, o.epsilon, before);
}

privacy::Plan CalibratedPlan(const JobOptions& o, const privacy::Plan& bare,
                             const std::vector<privacy::SpentRounds>& before) {
  const privacy::Plan plan = NoisyPlan(o, bare, before);
  return RoundToDevice(o.adaptive_clip ? WithClipBits(o, plan) : plan);
}

const ModelInfo& RequireModel(const std::string& name) {
  if (const ModelInfo* model = FindModel(name.c_str())) return *model;
  std::string known;
  for (const ModelInfo& model : Models()) known += fmt::format(" {}", model.name);
  throw std::invalid_argument(fmt::format("--model {}: no such model; known are:{}", name, known));
}

void RequireDelta(const JobOptions& o, uint32_t devices) {
  if (o.delta || devices > 1) return;
  throw std::invalid_argument(
      "--delta: its default, devices^-1.1, is 1 for a single device; name one, for example "
      "--delta 1e-3");
}

void RequirePlausible(const JobOptions& o, uint32_t devices) {
  if (o.cohort > devices) {
    throw std::invalid_argument(fmt::format(
        "--cohort {} is more than the {} devices; draw at most all of them", o.cohort, devices));
  }
  if (std::isnan(o.epsilon) || o.epsilon <= 0) {
    throw std::invalid_argument("--epsilon must be positive, or inf for training without privacy");
  }
  if (o.noise_multiplier && (!(*o.noise_multiplier > 0) || *o.noise_multiplier > 1e9)) {
    throw std::invalid_argument("--noise-multiplier must be positive and at most 1e9");
  }
  if (o.adaptive_clip && !ChooseCodec(o).certified) {
    throw std::invalid_argument(
        "--adaptive-clip reads a noisy bit, which only --mechanism gau-lrq with a finite --epsilon "
        "or --noise-multiplier carries; leave it out, or add noise");
  }
  const bool is_private_noise = o.trust_mode == Name(privacy::TrustMode::kPrivateNoise);
  if (is_private_noise != o.private_noise_multiplier.has_value()) {
    throw std::invalid_argument(
        is_private_noise
            ? "--trust-mode private-noise: say how much noise, by --private-noise-multiplier"
            : "--private-noise-multiplier is for --trust-mode private-noise");
  }
  if (is_private_noise && o.adaptive_clip) {
    throw std::invalid_argument(
        "--adaptive-clip does not go together with --trust-mode private-noise, whose noise covers "
        "no bit; leave one of them out");
  }
}

TrainingOptions MakeTraining(const JobOptions& o) {
  TrainingOptions training;
  training.local_epochs = o.local_epochs;
  training.batch_size = o.batch_size;
  training.learning_rate = static_cast<float>(o.learning_rate);
  training.weight_decay = static_cast<float>(o.weight_decay);
  training.clip_l2 = static_cast<float>(o.clip);
  training.clipping = o.clipping == "at-end" ? Clipping::kAtEnd : Clipping::kEveryStep;
  return training;
}

}  // namespace

const CodecInfo& ChooseCodec(const JobOptions& o) {
  const CodecInfo& codec = RequireCodec(o.mechanism);
  const bool is_unlimited = !o.noise_multiplier && std::isinf(o.epsilon) && o.epsilon > 0;
  if (!is_unlimited) return codec;
  if (codec.without_noise != nullptr) return RequireCodec(codec.without_noise);
  throw std::invalid_argument(fmt::format(
      "--mechanism {} adds noise: give a finite --epsilon, or --noise-multiplier", o.mechanism));
}

void AddJobOptions(CLI::App& command, JobOptions& options) {
  AddRoundOptions(command, options);
  AddTrainingOptions(command, options);
  AddClippingOptions(command, options);
  AddPrivacyOptions(command, options);
}

JobConfig MakeJob(const JobOptions& o, uint32_t devices,
                  const std::vector<privacy::SpentRounds>& before) {
  RequirePlausible(o, devices);
  JobConfig job;
  job.model = &RequireModel(o.model);
  job.codec = &ChooseCodec(o);
  job.coding = o.coding == "fixed" ? Coding::kFixed : Coding::kRange;
  job.padding = o.padding;
  job.plan = BarePlan(o, *job.model, devices);
  if (job.codec->noise) {
    RequireDelta(o, devices);
    job.plan = CalibratedPlan(o, job.plan, before);
    if (!o.noise_multiplier) job.epsilon_budget = o.epsilon;
    if (o.epsilon_budget) job.epsilon_budget = *o.epsilon_budget;
    job.spent_before = before;
  } else if (job.plan.sampling == privacy::Sampling::kPoisson) {
    job.plan.planned_reports = job.plan.devices;
  }
  if (o.adaptive_clip) job.clip_schedule = {o.clip_quantile, o.clip_learning_rate};
  job.training = MakeTraining(o);
  job.learning_rate_decay = o.learning_rate_decay;
  job.aggregation.server_learning_rate = o.server_learning_rate;
  job.aggregation.smoothing = o.smoothing;
  const bool poisson = job.plan.sampling == privacy::Sampling::kPoisson;
  job.min_devices = o.min_devices.value_or(poisson && job.codec->noise ? 0 : 1);
  const int processors = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  job.threads = o.threads == 0 ? processors : o.threads;
  job.Validate();
  return job;
}

}  // namespace sotto::server
