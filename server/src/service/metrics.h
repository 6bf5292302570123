// The metrics of a server, and what in them its operator must look at. Part of
// sotto::server/service.
//
// For the operator alone: counts of connections and of reports tell who took part (PRIVACY.md).
// Pure functions, safe from any thread.
#ifndef SOTTO_SERVICE_METRICS_H_
#define SOTTO_SERVICE_METRICS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/evaluation.h"
#include "net/server.h"

namespace sotto::server {

// The job's part of the metrics, of this start of the server.
struct JobFigures {
  uint64_t eligible_devices = 0;
  uint64_t rounds_released = 0;  // of the job
  uint64_t rounds_planned = 0;
  uint64_t attempts = 0;  // closed
  uint64_t updates_accepted = 0;
  uint64_t updates_refused = 0;
  uint64_t update_bytes = 0;
  uint64_t warnings = 0;  // lines that begin with WARNING or ALARM
  // Of the last attempt that was closed, or of the last release.
  uint64_t drawn = 0;
  uint64_t reported = 0;
  uint64_t checked_in = 0;
  double clip_l2 = 0;
  double noise_sigma = 0;
  std::optional<double> unclipped;  // noisy: adaptive clipping's
  std::optional<double> noise_to_signal;
  std::optional<double> device_accuracy;  // noisy
  std::vector<privacy::Claim> claims;     // of the job so far; empty without privacy
  std::optional<Evaluation> evaluation;   // of the last model that was evaluated
  double epsilon_budget = 0;              // 0: none
};

// All metrics in the text format of Prometheus, version 0.0.4.
std::string MetricsText(const NetworkFigures& network, const JobFigures& job);

// What has happened between two looks at the network that the operator must look at, one line each,
// with what to do.
//   minutes  between the two looks
std::vector<std::string> NetworkAlarms(const NetworkFigures& before, const NetworkFigures& now,
                                       double minutes);

}  // namespace sotto::server

#endif  // SOTTO_SERVICE_METRICS_H_
