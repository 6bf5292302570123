#include "round/job_config.h"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "aggregate/smoothing.h"

namespace sotto::server {
namespace {

// The dithered uniform quantizer's unit: clip_l2 is then the most that the format carries.
constexpr float kUniformUnitOfClip = 1.0F / 1024;

// Exact updates are summed in units 2^-40 of the smallest power of two above the clipping bound.
constexpr int kExactFractionBits = 40;

void Require(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

}  // namespace

const char* Name(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::kGauLrq:
      return "gau-lrq";
    case Mechanism::kUniformDither:
      return "uniform-dither";
    case Mechanism::kNone:
      return "none";
    case Mechanism::kGaussianFloat32:
      return "float32";
    case Mechanism::kQuantizedGaussian:
      return "qg";
    case Mechanism::kQuantizedBinomial:
      return "bq";
  }
  return "unknown";
}

const char* Name(Coding coding) {
  switch (coding) {
    case Coding::kRange:
      return "range";
    case Coding::kFixed:
      return "fixed";
    case Coding::kFloat32:
      return "float32";
  }
  return "unknown";
}

bool JobConfig::is_baseline() const {
  return mechanism == Mechanism::kGaussianFloat32 || mechanism == Mechanism::kQuantizedGaussian ||
         mechanism == Mechanism::kQuantizedBinomial;
}

UpdateFormat JobConfig::format() const {
  if (mechanism == Mechanism::kNone || is_baseline())
    return {Coding::kFloat32, DitherKind::kUniform, 0};
  return {coding, is_private() ? DitherKind::kGaussian : DitherKind::kUniform, padding};
}

TrainTask JobConfig::TaskFor(uint32_t round) const {
  TrainTask task;
  task.round = round;
  task.format = format();
  task.unit =
      has_noise() ? static_cast<float>(plan.noise_sigma) : training.clip_l2 * kUniformUnitOfClip;
  task.training = training;
  task.training.learning_rate =
      static_cast<float>(training.learning_rate * std::pow(learning_rate_decay, round));
  return task;
}

double JobConfig::SumUnit() const {
  if (mechanism == Mechanism::kNone) {
    return std::ldexp(1.0, std::ilogb(plan.clip_l2) + 1 - kExactFractionBits);
  }
  return std::ldexp(static_cast<double>(TaskFor(0).unit), -20);
}

void JobConfig::Validate() const {
  Require(model != nullptr, "a job needs a model");
  Require(training.Validate() == Status::kOk,
          "local training: epochs and batch size are 1 to 65535, the learning rate and the weight "
          "decay are finite and not negative, the clipping bound is finite and positive");
  Require(coding == Coding::kRange || coding == Coding::kFixed, "the coding is range or fixed");
  Require(padding <= kMaxPadding, "updates are padded to multiples of at most 4096 bytes");
  Require(static_cast<double>(training.clip_l2) == plan.clip_l2,
          "the plan's and the devices' clipping bounds differ");
  Require(learning_rate_decay > 0 && learning_rate_decay <= 1,
          "the learning rate's decay is in (0, 1]");
  Require(std::isfinite(server_learning_rate) && server_learning_rate > 0,
          "the server's learning rate is finite and positive");
  Require(smoothing >= 0 && smoothing <= kMaxSmoothingFactor,
          "the smoothing factor is not negative and at most 1e6");
  Require(min_devices <= plan.devices,
          "the least number of devices heard of is at most that of all devices");
  // Under add/remove adjacency the number of devices itself tells whether one more is there.
  Require(!has_noise() || plan.sampling != privacy::Sampling::kPoisson || min_devices == 0,
          "Poisson sampling releases every round: the least number of devices heard of must be 0");
  Require(epsilon_budget > 0, "the privacy budget is positive");
  Require(threads >= 1, "at least one thread is needed");
  Require(plan.devices >= 1 && plan.cohort >= 1 && plan.cohort <= plan.devices && plan.rounds >= 1,
          "a job has devices, a cohort of at least one and at most all of them, and rounds");
  Require(model->parameters <= kMaxParameters, "the model has more parameters than an update can");
  Require(max_attempts >= 1, "a round has at least one attempt");
  if (has_noise()) {
    plan.Validate();
    Require(plan.dimension == model->parameters, "the plan's dimension is not the model's");
    Require(static_cast<double>(static_cast<float>(plan.noise_sigma)) == plan.noise_sigma,
            "the noise must be a float32 value; see RoundToDevice()");
    Require(plan.clip_l2 <= 1024 * plan.noise_sigma,
            "the noise is below 1/1024 of the clipping bound: that is no privacy; raise the noise "
            "or train with --epsilon inf");
  }
}

privacy::Plan RoundToDevice(privacy::Plan plan) {
  plan.clip_l2 = static_cast<double>(static_cast<float>(plan.clip_l2));
  auto sigma = static_cast<float>(plan.noise_sigma);
  if (static_cast<double>(sigma) < plan.noise_sigma) {
    sigma = std::nextafter(sigma, std::numeric_limits<float>::infinity());
  }
  plan.noise_sigma = static_cast<double>(sigma);
  return plan;
}

}  // namespace sotto::server
