#include "audit/guards.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "audit/audited_device.h"
#include "audit/hostile_training.h"
#include "audit/observed_training.h"
#include "round/job.h"
#include "sotto/initial_weights.h"
#include "sotto/key_labels.h"
#include "sotto/models.h"
#include "sotto/posix/check.h"
#include "sotto/posix/run_key.h"

namespace sotto::server {
namespace {

// Everything in a task that decides about noise and bound.
struct Term {
  const char* name;
  double (*of)(const TrainTask& task);
};

constexpr Term kTerms[] = {
    {"quantizer_scale",
     [](const TrainTask& task) { return static_cast<double>(task.quantizer_scale); }},
    {"clip_l2", [](const TrainTask& task) { return static_cast<double>(task.training.clip_l2); }},
    {"clipping", [](const TrainTask& task) { return static_cast<double>(task.training.clipping); }},
    {"clip_bit_q20", [](const TrainTask& task) { return static_cast<double>(task.clip_bit_q20); }},
    {"accuracy_q20", [](const TrainTask& task) { return static_cast<double>(task.accuracy_q20); }},
    {"private_noise_q20",
     [](const TrainTask& task) { return static_cast<double>(task.private_noise_q20); }},
    {"dither", [](const TrainTask& task) { return static_cast<double>(task.format.dither); }},
};

std::string Difference(const TrainTask& given, const TrainTask& planned) {
  for (const Term& term : kTerms) {
    if (term.of(given) == term.of(planned)) continue;
    return fmt::format("round {}: {} is {:.9g} in the task of a device, and {:.9g} in the plan",
                       planned.round + 1, term.name, term.of(given), term.of(planned));
  }
  return "";
}

// What any device that asks can do: everything.
Request Hello(const ModelInfo& model, uint8_t (&digest)[kSha256Size]) {
  posix::Check(ModelDigest(model, digest), "the model's digest");
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.model_digest = digest;
  hello.abilities.features = 0xffffffff;
  return hello;
}

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

TaskGuard CheckTasks(const JobConfig& config, const Key& key) {
  DeviceRegistry registry;
  for (uint32_t i = 0; i < config.plan.devices; ++i) {
    registry.Register(
        {fmt::format("audit-{:06}", i), posix::DeriveKey(key, key_label::kDevice, i)});
  }
  NoLog log;
  Job job(config, registry, log, posix::DeriveKey(key, key_label::kServer));
  uint8_t digest[kSha256Size] = {};
  const Request hello = Hello(*config.model, digest);
  TaskGuard guard;
  for (uint32_t i = 0; i < kGuardedRounds && job.OpenRound(); ++i) {
    const TrainTask planned = config.TaskFor(job.round(), job.clip_l2());
    for (uint32_t device = 0; device < registry.size(); ++device) {
      const Reply reply = job.Answer(device, hello);
      if (reply.kind != Reply::Kind::kTrain) continue;
      ++guard.tasks;
      if (guard.holds()) guard.difference = Difference(reply.task, planned);
    }
    job.CloseRound();
  }
  return guard;
}

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
  ModelCodes codes({std::shared_ptr<void>(), config.model}, {});  // nothing is downloaded
  for (task.attempt = 0; task.attempt < kForgedUpdates; ++task.attempt) {
    forged.attempt = task.attempt;
    Attempt attempt(config, Unowned(registry), task, {0}, codes);
    // It fails if the encoder does not clip: what it got is too long for the format.
    if (device.Train(registry[0], hostile, forged, {base.data(), base.size()}) != Status::kOk)
      break;
    guard.taken += device.Upload(0, forged, *config.codec, attempt) ? 1 : 0;
    ++guard.sent;
  }
  return guard;
}

}  // namespace sotto::server
