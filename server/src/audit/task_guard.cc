#include "audit/task_guard.h"

#include <fmt/format.h>

#include "audit/observed_training.h"
#include "round/job.h"
#include "sotto/key_labels.h"
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

}  // namespace sotto::server
