#include "sotto/peer_job.h"

#include <cmath>

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/num.h"
#include "sotto/private_noise.h"
#include "sotto/publication.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxCount = 65535;
constexpr float kMaxFeatureNorm = 1024.0f;
constexpr float kMaxClip = 1024.0f;
constexpr uint32_t kMaxLocalSteps = uint32_t{1} << 20;
constexpr char kIdLabel[] = "sotto peer job 1";

constexpr double kRoundoff = 0x1p-24;  // the largest relative error of one float32 operation
constexpr double kMargin = 1.01;       // products of two such errors

bool IsWithin(float x, float most) { return x > 0.0f && x <= most; }

bool HasNumbersInRange(const PeerJob& j) {
  return j.batch_size >= 1 && j.batch_size <= kMaxCount && j.passes >= 1 && j.passes <= kMaxCount &&
         IsPositiveNormal(j.learning_rate) && j.weight_decay >= 0.0f && IsFinite(j.weight_decay) &&
         IsWithin(j.range, kMaxPublishedParameter) && j.error_clip >= 0.0f &&
         j.error_clip <= 1.0f && IsWithin(j.feature_norm, kMaxFeatureNorm) &&
         j.most_local_steps <= kMaxLocalSteps && j.publication_steps >= 1 &&
         j.publication_steps <= kMaxCount;
}

// What the lemmas need of a model: of one output, or of all outputs together.
struct Convexity {
  double lipschitz;    // L of the data term
  double smoothness;   // mu of the data term
  double parts;        // outputs whose weights are disjoint, K
  double coordinates;  // weights of a part
};

// X, with room for the rounding of a norm.
double InputNorm(const ModelInfo& model, const PeerJob& job) {
  const double slack = 1.0 + (model.PreparedShape().size() + 8.0) * kRoundoff;
  const double features = (model.preparation.empty() ? job.feature_norm : 1.0) * slack;
  return std::sqrt(1.0 + features * features);
}

// False if the lemmas do not hold.
bool Describe(const ModelInfo& model, const PeerJob& job, Convexity* out) {
  if (!IsConvexPeerModel(model)) return false;
  const double x = InputNorm(model, job);
  const double clip = job.error_clip;
  const double outputs = model.outputs;
  const double row = model.PreparedShape().size() + 1.0;
  switch (model.loss.kind) {
    case nn::LossKind::kOneVsAll:
      *out = {(clip > 0.0 ? clip : 1.0) * x, x * x / 4.0, outputs, row};
      return true;
    case nn::LossKind::kMeanSquaredError:
      *out = {clip * x, 2.0 / outputs * x * x, outputs, row};
      return clip > 0.0;
    case nn::LossKind::kSoftmaxCrossEntropy:
      *out = {std::sqrt(2.0) * x, x * x / 2.0, 1.0, row * outputs};
      return clip == 0.0;
  }
  return false;
}

double LocalRate(const PeerJob& job) {
  return (job.rule == PeerRule::kAverage ? 2.0 : 1.0) * job.learning_rate;
}

// Lemma 6, for a model that Describe() knows.
double StepError(const ModelInfo& model, const PeerJob& job, const Convexity& c, double rate) {
  const double x = InputNorm(model, job);
  const double weights = job.range * std::sqrt(c.coordinates);
  // A score is a sum in eight lanes (nn/kernels.h).
  const double depth = std::ceil(model.PreparedShape().size() / 8.0) + 6.0;
  const double score =
      kMargin * depth * kRoundoff * job.range * std::sqrt(model.PreparedShape().size() + 1.0) * x;
  const bool is_softmax = model.loss.kind == nn::LossKind::kSoftmaxCrossEntropy;
  const double outputs = is_softmax ? model.outputs : 1.0;
  const double error = c.smoothness / (x * x) * score * std::sqrt(outputs) +
                       (8.0 + (is_softmax ? outputs : 0.0)) * kRoundoff;
  const double gradient = x * error + (job.batch_size + 4.0) * kRoundoff * c.lipschitz;
  // Roundings of a weight: its decay, and what is added, in softmax regression once a sample.
  const double additions =
      (job.weight_decay == 0.0f ? 0.0 : 1.0) + (is_softmax ? job.batch_size : 1.0);
  return kMargin * (rate * gradient + additions * kRoundoff * weights);
}

// Lemmas 3, 5 and 6, in model units.
double SampleSensitivity(const ModelInfo& model, const PeerJob& job, const Convexity& c,
                         uint32_t local_steps) {
  const double rate = job.learning_rate;
  const double carried = job.rule == PeerRule::kAverage  ? 0.5 * local_steps
                         : job.rule == PeerRule::kShared ? 0.0
                                                         : 1.0 * local_steps;
  const double errors = carried * StepError(model, job, c, LocalRate(job)) +
                        job.publication_steps * StepError(model, job, c, rate) +
                        8.0 * kRoundoff * job.range * std::sqrt(c.coordinates);
  const double moved = 2.0 * rate * c.lipschitz / job.batch_size * (1.0 + 1e-6);
  return std::sqrt(c.parts) * (moved + 2.0 * errors);
}

Status AddNumbers(const PeerJob& job, Sha256* hash) {
  const uint32_t numbers[] = {static_cast<uint32_t>(job.rule),
                              static_cast<uint32_t>(job.unit),
                              job.batch_size,
                              FloatBits(job.learning_rate),
                              FloatBits(job.weight_decay),
                              FloatBits(job.range),
                              FloatBits(job.error_clip),
                              FloatBits(job.feature_norm),
                              FloatBits(job.clip_l2),
                              job.noise_q20,
                              job.passes,
                              job.most_local_steps,
                              job.publication_steps,
                              job.most_releases};
  for (const uint32_t number : numbers) {
    if (Status s = hash->UpdateU32(number); s != Status::kOk) return s;
  }
  return hash->Update(job.salt);
}

}  // namespace

Status PeerJob::Validate() const {
  if (rule > PeerRule::kAccumulate || unit > PeerUnit::kDevice || !HasNumbersInRange(*this)) {
    return Status::kInvalidArgument;
  }
  // Of Eq. (6) there is one step.
  if (rule == PeerRule::kAverage && publication_steps > 1) return Status::kInvalidArgument;
  const bool has_noise = noise_q20 >= 1 && noise_q20 <= kMaxPrivateNoiseQ20;
  const bool has_clip = IsPositiveNormal(clip_l2) && clip_l2 <= kMaxClip && most_releases >= 1;
  const bool has_neither = clip_l2 == 0.0f && most_releases == 0;
  const bool is_valid = unit == PeerUnit::kNone     ? noise_q20 == 0 && has_neither
                        : unit == PeerUnit::kSample ? has_noise && has_neither
                                                    : has_noise && has_clip;
  return is_valid ? Status::kOk : Status::kInvalidArgument;
}

Status PeerJobId(const ModelInfo& model, const PeerJob& job, uint8_t (&id)[16]) {
  if (Status s = job.Validate(); s != Status::kOk) return s;
  uint8_t digest[kSha256Size];
  if (Status s = ModelDigest(model, digest); s != Status::kOk) return s;
  Sha256 hash;
  Status s = hash.Update({reinterpret_cast<const uint8_t*>(kIdLabel), sizeof(kIdLabel) - 1});
  if (s == Status::kOk) s = hash.Update(digest);
  if (s == Status::kOk) s = AddNumbers(job, &hash);
  if (s == Status::kOk) s = hash.Finish(digest);
  if (s == Status::kOk) __builtin_memcpy(id, digest, sizeof(id));
  return s;
}

bool IsConvexPeerModel(const ModelInfo& model) {
  if (model.layers.size() != 1 || !model.has_gradient_options) return false;
  const nn::LayerPlan& layer = model.layers[0];
  const bool is_prepared_well =
      model.preparation.empty() || (model.preparation.size() == 1 &&
                                    model.preparation[0].kind == nn::PreparationKind::kUnitNorm);
  return layer.info.kind == nn::LayerKind::kDense && layer.frozen == nullptr && is_prepared_well &&
         model.loss.target != nn::TargetKind::kInput;
}

float LargestPeerRate(const ModelInfo& model, const PeerJob& job) {
  Convexity c{};
  if (!Describe(model, job, &c)) return 0.0f;
  const double most =
      1.0 / (c.smoothness + job.weight_decay) / (job.rule == PeerRule::kAverage ? 2.0 : 1.0);
  const auto rounded = static_cast<float>(most);
  return rounded <= most ? rounded : FloatFromBits(FloatBits(rounded) - 1);
}

double PeerStepError(const ModelInfo& model, const PeerJob& job, double rate) {
  Convexity c{};
  return Describe(model, job, &c) ? StepError(model, job, c, rate) : 0.0;
}

Status PeerSensitivityQ20(const ModelInfo& model, const PeerJob& job, uint32_t local_steps,
                          double* sensitivity_q20) {
  if (Status s = job.Validate(); s != Status::kOk) return s;
  if (job.unit == PeerUnit::kNone || local_steps > job.most_local_steps) {
    return Status::kInvalidArgument;
  }
  if (job.unit == PeerUnit::kDevice) {
    *sensitivity_q20 = 2.0 * job.clip_l2 * 0x1p20;
    return Status::kOk;
  }
  Convexity c{};
  if (!Describe(model, job, &c) || job.learning_rate > LargestPeerRate(model, job)) {
    return Status::kMismatch;
  }
  const double difference = SampleSensitivity(model, job, c, local_steps) * 0x1p20;
  *sensitivity_q20 = (difference + std::sqrt(static_cast<double>(model.parameters))) * (1.0 + 1e-9);
  return Status::kOk;
}

Status PeerReleaseRhoQ40(const ModelInfo& model, const PeerJob& job, uint64_t* rho_q40) {
  double sensitivity = 0.0;
  const Status s = PeerSensitivityQ20(model, job, job.most_local_steps, &sensitivity);
  if (s != Status::kOk) return s;
  const double ratio = sensitivity / job.noise_q20;
  const double rho = std::ceil(0.5 * ratio * ratio * 0x1p40 * (1.0 + 1e-9));
  *rho_q40 = rho < 0x1p63 ? static_cast<uint64_t>(rho) : UINT64_MAX;
  return Status::kOk;
}

}  // namespace sotto
