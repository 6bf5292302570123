// The smoothing factor of `--smoothing auto`: a rule over public quantities. Part of
// sotto::server/aggregate.
//
// The rule. Let s be the deviation of the noise on each coordinate of the mean update, d the number
// of parameters and C the clipping bound. The noise has a norm of about s sqrt(d); the mean update
// has a norm of at most C. Where the noise is ten times that or more, and the model has one trained
// layer, the factor is 0.3; elsewhere it is 0. For nets with hidden layers the limit is another
// one: smoothing cost accuracy there with as much noise.
//
// Nothing private enters: s, d, C and the model are part of the plan. What the right factor is also
// depends on the data and on how they are normalised, which the rule does not see. It is therefore
// cautious: server/SIMULATE.md has the measurements, in which it never lost, and larger factors
// that won more or lost. A pure function.
#pragma once

#include "sotto/model_info.h"

namespace sotto::server {

constexpr double kAutoSmoothingFactor = 0.3;
constexpr double kAutoSmoothingNoise = 10;  // norm of the noise, in clipping bounds

//   noise_sigma  of the mean update, model units, >= 0
//   clip_l2      > 0, model units
double AutoSmoothing(const ModelInfo& model, double noise_sigma, double clip_l2);

}  // namespace sotto::server
