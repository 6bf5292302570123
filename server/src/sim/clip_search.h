// Finds the clipping bound of a plan by short simulations on data that somebody names. Part of
// sotto::server/sim.
//
//   1. The norms of a few devices' updates without clip and without noise: a first guess.
//   2. Simulations at the plan's noise, with this bound, half of it, and on by factors of 2 in the
//      better direction until it gets worse, or until there were as many as are allowed.
//
// No epsilon covers this choice: the data must be public or simulated. Reentrant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "evaluation/evaluation.h"
#include "sim/simulation_request.h"

namespace sotto::server {

struct ClipSearchOptions {
  uint32_t most_runs = 5;  // at the plan's noise; >= 2
  // Called after each round of these: how many rounds of all runs are done, if all that are allowed
  // take place.
  std::function<void(size_t done, float clip, const SimulationConfig&, const RoundReport&)>
      on_round;
  std::function<bool()> stop;  // asked before each round; null: never
};

struct ClipRun {
  float clip = 0;
  Evaluation last;
};

struct ClipSearch {
  double norm = 0;  // median of the updates' norms
  std::vector<ClipRun> runs;
  size_t best = 0;  // of the runs
  bool stopped = false;
};

// Longer plans are cut to this many rounds: the best bound hardly depends on the rest.
constexpr int64_t kMostRoundsOfAClip = 60;
int64_t RoundsOfAClip(int64_t rounds);

// Of two models evaluated on the same samples the better one: by accuracy, if they tell classes
// apart, then by loss.
bool IsBetter(const Evaluation& a, const Evaluation& b);

// `request` is the plan, with its seed; its clip is ignored. Throws as MakeSimulation() and
// Simulate() do, and std::runtime_error if no device's update has a finite norm above 0.
ClipSearch SearchClip(const SimulationRequest& request, const TrainTest& data,
                      const ClipSearchOptions& options);

}  // namespace sotto::server
