#include "views/training_warnings.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "base/counted.h"
#include "plans/turns.h"
#include "round/release.h"
#include "views/figures.h"

namespace sotto::server {
namespace {

// Of the noise on the mean update of this round, model units.
double NoiseNorm(const JobConfig& job, uint32_t round) {
  const TrainTask task = job.TaskFor(round, job.ClipFor(round));
  return MeanNoiseSigma(job, task, job.plan.ExpectedCohort()) * std::sqrt(job.model->parameters);
}

// The rounds for which the devices have turns.
int64_t RoundsWithTurns(const privacy::Plan& plan) {
  if (plan.sampling != privacy::Sampling::kPasses) return plan.rounds;
  return std::clamp<int64_t>(privacy::RoundsFor(plan.participations, plan.cohort, plan.devices), 1,
                             plan.rounds);
}

// How far the noise of all rounds moves the model, over how far updates can move it.
double NoiseOverUpdates(const JobConfig& job) {
  const auto rounds = static_cast<uint32_t>(RoundsWithTurns(job.plan));
  if (job.plan.schedule.IsConstant()) {
    return NoiseNorm(job, 0) / (static_cast<double>(job.ClipFor(0)) * std::sqrt(rounds));
  }
  double noise = 0;
  double updates = 0;
  for (uint32_t round = 0; round < rounds; ++round) {
    noise = std::hypot(noise, NoiseNorm(job, round));
    updates += static_cast<double>(job.ClipFor(round));
  }
  return noise / updates;
}

// "in a round, the noise has a norm of about 35.4 and an update one of at most C = 0.4"
std::string DescribeNoise(const JobConfig& job) {
  return fmt::format(
      "in {}round, the noise has a norm of about {:.3g} and an update one of at most C = {:.4g}",
      job.clip_schedule || !job.plan.schedule.IsConstant() ? "the first " : "a ", NoiseNorm(job, 0),
      job.ClipFor(0));
}

std::string LessNoise(const JobConfig& job) {
  std::string text =
      "a larger --cohort (with more devices), a larger --epsilon or a smaller --noise-multiplier";
  if (job.plan.private_noise_multiplier > 0) text += ", a smaller --private-noise-multiplier";
  return text + ", a --model with fewer parameters";
}

std::string Capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 32);
  return text;
}

// "19000": two digits of a large number.
std::string AboutText(double value) {
  const double unit = std::pow(10, std::max(std::floor(std::log10(value)) - 1, 0.0));
  return fmt::format("{:.0f}", std::round(value / unit) * unit);
}

// What would raise the signal to noise from `ratio`. In passes it grows as sqrt(devices x cohort).
std::string MoreSignal(const JobConfig& job, double ratio) {
  const privacy::Plan& plan = job.plan;
  if (plan.sampling != privacy::Sampling::kPasses) return "what helps is " + LessNoise(job);
  const double product = static_cast<double>(plan.devices) * static_cast<double>(plan.cohort);
  return fmt::format(
      "R near 1 asks for devices x cohort of about {} (here {:.0f}), a smaller model or a larger "
      "epsilon",
      AboutText(product / (ratio * ratio)), product);
}

}  // namespace

std::string NoiseWarning(const JobConfig& job) {
  const double ratio = NoiseOverUpdates(job);
  if (!(ratio > kMostNoise)) return "";
  return fmt::format(
      "the noise drowns the updates: {}. Over {} the noise moves the {} parameters {:.0f} times as "
      "far as all updates can (R {:.2g}); above {:g} a model learns little or nothing. {}. "
      "--clip and --server-learning-rate scale noise and updates alike",
      DescribeNoise(job), Counted(RoundsWithTurns(job.plan), "round"), job.model->parameters, ratio,
      1 / ratio, kMostNoise, Capitalised(MoreSignal(job, 1 / ratio)));
}

std::string OwnersWarning(const JobConfig& job, int64_t most_devices) {
  const privacy::Sampling sampling = job.plan.sampling;
  if (sampling == privacy::Sampling::kPasses || most_devices < 2 || !job.codec->noise) return "";
  return fmt::format(
      "an owner has {}, and --sampling {} does not look at owners: several of them may be in one "
      "cohort, and epsilon speaks of one device. --sampling passes never asks two devices of one "
      "owner for the same round",
      Counted(most_devices, "device"), privacy::Name(sampling));
}

std::string SignalNotice(const JobConfig& job) {
  if (!job.codec->noise || !NoiseWarning(job).empty()) return "";
  const double ratio = 1 / NoiseOverUpdates(job);
  if (!std::isfinite(ratio)) return "";
  const std::string text = fmt::format("signal to noise of the whole run R {:.2g}", ratio);
  if (ratio >= 1) return text + ": the model can learn; R 1 is enough for most of it";
  return fmt::format("{}: {}; {}", text,
                     ratio >= 0.5 ? "the noise costs some of what it learns"
                                  : "the noise costs much of what it learns",
                     MoreSignal(job, ratio));
}

std::string WorseWarning(const Evaluation& initial, const Evaluation& last) {
  if (!IsWorse(initial, last)) return "";
  return fmt::format("the training made the model worse: {} after it, {} before it, on the same {}",
                     DescribeEvaluation(last), DescribeEvaluation(initial),
                     Counted(last.samples, "test sample"));
}

std::string WorseWarning(const JobConfig& job, const std::optional<Evaluation>& initial,
                         const std::optional<Evaluation>& last) {
  // What devices have is another model: the test set meets the values that personal layers start
  // from.
  if (job.model->personal > 0) return "";
  const std::string worse = initial && last ? WorseWarning(*initial, *last) : "";
  if (worse.empty()) return "";
  if (!job.codec->noise) {
    return worse +
           ". Try a smaller --learning-rate, fewer --local-epochs, a smaller "
           "--server-learning-rate or more --rounds";
  }
  return fmt::format(
      "{}; {}. Try a smaller --clip, with which the noise shrinks, or a smaller "
      "--server-learning-rate; then {}",
      worse, DescribeNoise(job), LessNoise(job));
}

}  // namespace sotto::server
