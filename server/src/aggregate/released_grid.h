// A grid on which the released models lie, so that a model travels as small integers. Part of
// sotto::server/aggregate.
//
// An optimiser moves the exact model x. What is released, and what devices train from, is x rounded
// to the multiples of 2^e. The exact model is state of the optimiser: what rounding took away in
// one round is still there in the next one (error feedback), so steps far below the grid add up.
// Rounding an already private model is post-processing: it costs no privacy.
//
// The exponent. Let s_t be the root mean square of the step of round t, x_t - x_(t-1), over the
// parameters, and S_t = s_1^2 + ... + s_t^2. Under noise s_t is about the noise's deviation in the
// model, whatever estimator and optimiser made the step of it. Then
//   2^e = the power of two nearest to min(c sqrt(S_t), 2 s_t), in ratio, -20 <= e <= 0
// The first term adds at most c^2 / 12 to the variance that noise has put into the model, and it
// does not accumulate. The second one follows a noise that decays. If a parameter is beyond 2^24
// 2^e, e is as large as it must be; if even e = 0 does not do, the model is released as it is.
//
// The exponent is not stored: the released model shows it. One thread at a time.
#pragma once

#include <memory>
#include <optional>

#include "sotto/research/optimiser.h"

namespace sotto::server {

// c of a job that does not name it, and the largest one.
constexpr double kDefaultGrid = 0.25;
constexpr double kMostGridFactor = 2;

// The exponent of the power of two that is nearest to `unit` in ratio, or the least one that holds
// a parameter of the magnitude `largest` if it is larger; absent: there is none up to 0.
std::optional<int> GridExponent(double unit, double largest);

// The optimiser `inner`, whose model is released on a grid. Its state holds the state of `inner`.
//   c  (0, kMostGridFactor]
std::unique_ptr<Optimiser> MakeGrid(double c, std::unique_ptr<Optimiser> inner);

}  // namespace sotto::server
