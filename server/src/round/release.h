// From the sum of an attempt to the next model. Part of sotto::server/round.
//
//   sum --zero updates--> noisy sum --estimator--> update --optimiser--> parameters
//
// The time that this takes does not depend on the number of reports if the configuration asks for
// constant_work.
//
// The sum is not read before its noise is complete. All that follows is post-processing.
//
// Safe from any thread, if no other uses the same optimiser.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "aggregate/partial_sum.h"
#include "evaluation/error_histogram.h"
#include "round/job_config.h"
#include "sotto/messages.h"
#include "sotto/research/estimator.h"
#include "sotto/research/optimiser.h"

namespace sotto::server {

// What a complete, noisy sum looks like: post-processing of what is released. For the operator.
struct UpdateFigures {
  // Norm of the noise of the mean update, over the norm that is estimated for what is not noise.
  // Absent without noise, or if all of it may be noise.
  std::optional<double> noise_to_signal;
  // PowerInBands() of the mean update, before and after the estimator.
  std::vector<float> before;
  std::vector<float> after;
  double noise = 0.0;  // power of the noise before the estimator, the same at all frequencies
};

struct ReleaseResult {
  std::vector<float> parameters;  // the next model, or the old one if it diverged
  uint32_t topped_up = 0;         // zero updates added so that the noise is constant
  bool diverged = false;          // the next model would not be finite
  double next_clip_l2 = 0.0;      // bound on an update's norm in the next round, model units
  // Under adaptive clipping: the noisy share of the cohort that was not clipped, in [0, 1].
  std::optional<double> unclipped_fraction;
  // With evaluation on devices: the accuracy of the round's model, before this release.
  std::optional<privacy::AccuracyEstimate> device_accuracy;
  std::optional<UpdateFigures> figures;  // if the configuration asks for them
  std::optional<ErrorHistogram> errors;  // of a round that measures them; the model is the old one
};

// Deviation of the noise on each coordinate of the mean update, model units. The sum holds the
// noise of plan.planned_reports updates, private noise included; the mean is the sum divided by
// `cohort`, Plan::ExpectedCohort() of the round. 0 without noise.
double MeanNoiseSigma(const JobConfig& config, const TrainTask& task, double cohort);

// Completes the noise of the sum and computes the next model. The configuration must be valid.
//   plan        of the round: PlanForFleet() for its eligible devices
//   task        the task of each of the attempt's devices
//   total       the merged parts of all processes; with noise, at most plan.planned_reports updates
//   server_key  zero updates derive from it
//   parameters  [model.parameters] the model from which the attempt's devices trained
//   optimiser   makes one step; no step if the model diverges
// Throws std::runtime_error if a key or the noise fails. Throws std::invalid_argument for a sum of
// another size or of too many updates.
ReleaseResult MakeRelease(const JobConfig& config, const privacy::Plan& plan, const TrainTask& task,
                          PartialSum total, const Key& server_key, Span<const float> parameters,
                          const Estimator& estimator, Optimiser& optimiser);

}  // namespace sotto::server
