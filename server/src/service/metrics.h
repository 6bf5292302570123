// The metrics of a server. Part of sotto::server/service.
//
// For the operator alone: counts of connections and of reports tell who took part (PRIVACY.md).
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "net/server.h"
#include "round/round_figures.h"
#include "store/store_watch.h"

namespace sotto::server {

// The job's part of the metrics, of this start of the server.
struct JobFigures {
  uint64_t eligible_devices = 0;
  uint64_t rounds_released = 0;  // of the job
  uint64_t rounds_planned = 0;
  uint64_t attempts = 0;                          // closed
  uint64_t warnings = 0;                          // lines that begin with WARNING or ALARM
  RoundMetrics rounds;                            // of these attempts
  std::vector<privacy::Claim> claims;             // of the job so far; empty without privacy
  std::optional<Evaluation> evaluation;           // of the last model that was evaluated
  double epsilon_budget = 0;                      // 0: none
  Halt end = Halt::kWaiting;                      // how it ended; kWaiting: it is not over
  std::map<std::string, uint64_t> device_states;  // how many devices are in each
  std::optional<StoreFigures> store;              // absent: not looked at yet
  int64_t store_attempts = 0;                     // of all jobs of the store
};

// All metrics in the text format of Prometheus, version 0.0.4.
std::string MetricsText(const NetworkFigures& network, const JobFigures& job);

}  // namespace sotto::server
