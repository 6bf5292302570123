// Whether a job's devices get the task that its plan was accounted for. Part of
// sotto::server/audit.
//
// canary.h takes its tasks from the configuration. A job that handed out other ones, with less
// noise or a larger bound, would pass there. So this check runs the job itself, without reports,
// and reads what its devices are told.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <string>

#include "round/job_config.h"
#include "sotto/crypto.h"

namespace sotto::server {

struct TaskGuard {
  uint32_t tasks = 0;  // that were handed out and compared
  // The first difference, for people; empty: there is none.
  std::string difference;

  bool holds() const { return difference.empty(); }
};

// Compares the tasks of the first kGuardedRounds rounds with those of the configuration.
// Throws as Job does.
TaskGuard CheckTasks(const JobConfig& config, const Key& key);
constexpr uint32_t kGuardedRounds = 50;

}  // namespace sotto::server
