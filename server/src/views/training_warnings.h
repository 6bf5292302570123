// Warnings before a training begins, and when it has taught the model nothing. Part of
// sotto::server/views.
//
// `sotto simulate` and `sotto serve` show them to the user who runs the training. The first follows
// from the job alone, so everybody may know it. The others compare evaluations on test samples:
// they belong to the owner of these.
//
// Pure functions, safe from any thread. A text is empty if there is nothing to warn of.
#pragma once

#include <string>

#include "evaluation/evaluation.h"
#include "round/job_config.h"

namespace sotto::server {

// That the noise drowns the updates. Let s be the deviation of the noise on a coordinate of a
// round's mean update, d the parameters, C the bound on an update's norm, T the rounds. Noise of
// norm s sqrt(d) is drawn anew in each round, so in T rounds it moves the model by about
// s sqrt(d T). Updates move it by at most C T. The warning comes where the noise moves it more than
// kMostNoise times as far; with a schedule s and C are each round's own. A server's learning rate
// scales both.
//
// Measured: softmax-784-10 on Fashion-MNIST, 30 rounds, reaches an accuracy of 0.77 where the noise
// moves it 0.7 times as far, 0.66 at 2.3, 0.50 at 4.5, 0.33 at 9.1, 0.21 at 18. With 3 and 10
// rounds, softmax-64-10 and mlp it is 0.13 to 0.21 from 12 on, 0.1 being chance, and the loss is
// above the untrained model's.
std::string NoiseWarning(const JobConfig& job);

constexpr double kMostNoise = 10;

// R, the signal to noise of the whole run, with what would raise it: how far updates can move the
// model over how far the noise of all rounds does, the inverse of what NoiseWarning() looks at. Of
// passes it is SignalToNoise() of plans/turns.h, with the colluders' noise. Not a warning. Empty
// without noise, and where NoiseWarning() says it.
//
// Measured: softmax-784-10 on Fashion-MNIST reaches an accuracy of 0.60 at 0.34, 0.71 at 0.63,
// 0.745 at 0.90 and 0.78 at 1.65, whatever mix of devices, cohort and epsilon makes it.
std::string SignalNotice(const JobConfig& job);

// That the job's sampling does not look at owners, though an owner has several devices; empty: it
// does, or there is no such owner.
//   most_devices  of one owner
std::string OwnersWarning(const JobConfig& job, int64_t most_devices);

// That a training made the model worse, with both evaluations. See IsWorse().
std::string WorseWarning(const Evaluation& initial, const Evaluation& last);

// The same with the noise of the job's first round, the bound on an update, and what to change.
std::string WorseWarning(const JobConfig& job, const std::optional<Evaluation>& initial,
                         const std::optional<Evaluation>& last);

}  // namespace sotto::server
