#include "audit/bound_guards.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audit/audited_device.h"
#include "audit/hostile_training.h"
#include "sotto/initial_weights.h"
#include "sotto/models.h"
#include "sotto/posix/check.h"

namespace sotto::server {
namespace {

// Samples and rates that are tried, one after the other, until a training leaves the ball without
// diverging. A feature of 0 is also a token.
struct Extreme {
  float feature;
  float learning_rate;
};
constexpr Extreme kExtremes[] = {{1000, 1}, {10, 4}, {1, 4}, {0, 4}, {0.1F, 100}, {0, 1000}};

constexpr uint32_t kForgedUpdates = 64;
// The length of a forged update in deviations of one encoding's noise. It is far above the width of
// the quantizer's cells, so a server that looks at the integers cannot miss it.
constexpr float kForgedSigmas = 500;

double Norm(Span<const float> values) {
  return std::sqrt(std::accumulate(values.begin(), values.end(), 0.0, [](double sum, float value) {
    return sum + static_cast<double>(value) * static_cast<double>(value);
  }));
}

Device Somebody() { return {"audit", Key{{1}}}; }

TrainerGuard CheckTrainer(const ModelInfo& model, Clipping clipping) {
  TrainTask task;
  task.format = {Coding::kFloat32, DitherKind::kUniform, 0};
  task.training.clipping = clipping;
  task.training.batch_size = 1;
  task.training.clip_l2 = 0.5F;
  const Device identity = Somebody();
  std::vector<float> base(model.parameters);
  posix::Check(InitialWeights(model, identity.secret, {base.data(), base.size()}),
               "the initial weights");
  AuditedDevice device(model, task.training);
  TrainerGuard guard = {model.name, clipping, std::nullopt};
  for (const Extreme& extreme : kExtremes) {
    device.SetFeature(extreme.feature);
    task.training.learning_rate = extreme.learning_rate;
    const Status status = device.Train(identity, model, task, {base.data(), base.size()});
    if (status != Status::kOk || device.round().failure() != Status::kOk) continue;
    const double length = Norm(device.update()) / static_cast<double>(task.training.clip_l2);
    // Without a projection nothing tells whether the training left the ball but its length.
    if (length < 0.99) continue;
    guard.length = std::max(guard.length.value_or(0), length);
  }
  return guard;
}

}  // namespace

std::vector<const ModelInfo*> GuardedModels(const ModelInfo& model) {
  std::vector<const ModelInfo*> models = {&model};
  for (const ModelInfo& named : Models()) {
    if (named.parameters <= kMostParameters && &named != &model) models.push_back(&named);
  }
  return models;
}

std::vector<TrainerGuard> CheckTrainers(const std::vector<const ModelInfo*>& models) {
  std::vector<TrainerGuard> guards;
  for (const ModelInfo* model : models) {
    for (const Clipping clipping : {Clipping::kEveryStep, Clipping::kAtEnd}) {
      guards.push_back(CheckTrainer(*model, clipping));
    }
  }
  return guards;
}

ServerGuard CheckServer(const JobConfig& config, const Key& key) {
  ServerGuard guard;
  // With private noise an honest update has no largest norm, and the baselines of simulations leave
  // the bound to the device.
  if (!config.codec->certified || config.plan.private_noise_multiplier > 0) return guard;
  TrainTask task = config.TaskFor(0, config.training.clip_l2);
  TrainTask forged = task;
  forged.training.clip_l2 =
      std::max(kForgedSigmas * task.quantizer_scale, 2 * task.training.clip_l2);
  if (forged.Validate() != Status::kOk) return guard;  // no longer update fits the format
  guard.length =
      static_cast<double>(forged.training.clip_l2) / static_cast<double>(task.training.clip_l2);
  const ModelInfo hostile = HostileTraining<1, true>::Of(*config.model);
  DeviceRegistry registry;
  registry.Register({"audit", key});
  AuditedDevice device(config);
  const std::vector<float> base(config.model->parameters);
  for (task.attempt = 0; task.attempt < kForgedUpdates; ++task.attempt) {
    forged.attempt = task.attempt;
    Attempt attempt(config, Unowned(registry), task, {0}, {});
    // It fails if the encoder does not clip: what it got is too long for the format.
    if (device.Train(registry[0], hostile, forged, {base.data(), base.size()}) != Status::kOk)
      break;
    guard.taken += device.Upload(0, forged, *config.codec, attempt) ? 1 : 0;
    ++guard.sent;
  }
  return guard;
}

}  // namespace sotto::server
