// Whether the parts that a job's guarantee rests on hold, each on its own. Part of
// sotto::server/audit.
//
// Three parts bound an update: the device's trainer projects, its encoder clips, the server
// refuses. An update that the trainer leaves too long is clipped by the encoder, so a fault of one
// part alone may show in no release. Here each part gets what the part before it should have
// stopped. canary.h checks the encoder's part.
//
// canary.h takes its tasks from the configuration. A job that handed out other ones, with less
// noise or a larger bound, would pass there. So CheckTasks() runs the job itself, without reports,
// and reads the tasks of its devices.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "round/job_config.h"
#include "sotto/crypto.h"

namespace sotto::server {

// A training on a sample so large, or with a rate so large, that a step leaves the ball.
struct TrainerGuard {
  std::string model;
  Clipping clipping = Clipping::kEveryStep;
  // The update's norm beside the bound, before the encoder; absent: no sample made this model leave
  // the ball without diverging, so nothing is known.
  std::optional<double> length;

  // A trainer's bound holds up to the rounding of its arithmetic; the exact one is the encoder's.
  bool holds() const { return !length || *length <= 1 + kRounding; }
  static constexpr double kRounding = 1e-3;
};

// Both ways of clipping with each of these models.
std::vector<TrainerGuard> CheckTrainers(const std::vector<const ModelInfo*>& models);

// The models that have a name and at most kMostParameters parameters, and this one.
std::vector<const ModelInfo*> GuardedModels(const ModelInfo& model);
constexpr uint32_t kMostParameters = 100000;

// Updates of a device whose encoder does not clip, handed to the server.
struct ServerGuard {
  uint32_t sent = 0;  // 0: this job's codec refuses no update for its norm, or not for certain
  uint32_t taken = 0;
  double length = 0;  // of these updates, beside the bound

  bool holds() const { return taken == 0; }
};

ServerGuard CheckServer(const JobConfig& config, const Key& key);

// Whether a job's devices get the task that its plan was accounted for.
struct TaskGuard {
  uint32_t tasks = 0;  // that were handed out and compared
  // The first difference, for people; empty: there is none.
  std::string difference;

  bool holds() const { return difference.empty(); }
};

// Compares the tasks of the first kGuardedRounds rounds with the configuration.
// Throws as Job does.
TaskGuard CheckTasks(const JobConfig& config, const Key& key);
constexpr uint32_t kGuardedRounds = 50;

}  // namespace sotto::server
