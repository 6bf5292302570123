// From the sum of an attempt to the next model. Part of sotto::server/round.
//
//   sum --zero updates--> noisy sum --estimator--> update --optimiser--> parameters
//
// Nobody reads the sum before its noise is complete; what follows is post-processing.
#ifndef SOTTO_ROUND_RELEASE_H_
#define SOTTO_ROUND_RELEASE_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/estimator.h"
#include "aggregate/optimiser.h"
#include "aggregate/partial_sum.h"
#include "round/job_config.h"
#include "sotto/messages.h"

namespace sotto::server {

struct ReleaseResult {
  std::vector<float> parameters;  // the next model, or the old one if it diverged
  uint32_t topped_up = 0;         // zero updates added so that the noise is constant
  bool diverged = false;          // the next model would not be finite
  double next_clip_l2 = 0.0;      // bound on an update's norm in the next round, model units
  // Under adaptive clipping: the noisy share of the cohort that was not clipped, in [0, 1].
  std::optional<double> unclipped_fraction;
};

// Deviation of the noise on each coordinate of the mean of an attempt's updates, model units: that
// of plan.planned_reports updates, private noise included. 0 without noise.
double MeanNoiseSigma(const JobConfig& config, const TrainTask& task);

// Completes the sum and makes the next model of it. The configuration is valid.
//   task        what the attempt asked of each of its devices
//   total       of all processes: at most plan.planned_reports updates
//   server_key  zero updates derive from it
//   parameters  [model.parameters] the model that the attempt trained from
//   optimiser   makes one step; none if the model diverges
// Throws std::runtime_error if a key or the noise fails, and std::invalid_argument for a sum of
// another size or of too many updates.
ReleaseResult MakeRelease(const JobConfig& config, const TrainTask& task, PartialSum total,
                          const Key& server_key, Span<const float> parameters,
                          const Estimator& estimator, Optimiser& optimiser);

}  // namespace sotto::server

#endif  // SOTTO_ROUND_RELEASE_H_
