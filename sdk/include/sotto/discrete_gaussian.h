// Exact samples of the discrete Gaussian from random bits, by integers alone. Part of sotto/lrq.
//
// Distribution. The integer x has probability proportional to exp(-x^2 / (2 sigma^2)), sigma
// rational. The distribution is exact if the random bits are uniform: no floating point, no table,
// no truncation. Source: Canonne, Kamath, Steinke, "The Discrete Gaussian for Differential
// Privacy", 2020, Algorithms 1 to 3. One difference: the Laplace proposal of Algorithm 3 has the
// scale t = sigma here, not floor(sigma) + 1. The proof holds for every t, and with t = sigma all
// tests are on 32-bit integers.
//
// Time. This is rejection sampling. A draw takes 14 words of 32 bits on average where sigma is
// large. There is no upper limit, but the probability of a longer draw falls geometrically. The
// time depends on the random bits only, and so on the value drawn. It does not depend on the data
// to which the value is added. An attacker who can time a single draw on the device learns
// something about this draw's noise.
//
// Failure. After a failure of the random stream the results mean nothing, but every call ends; the
// caller checks random->status(). One thread at a time uses a random stream.
#pragma once

#include <cstdint>

#include "sotto/random.h"

namespace sotto {

// True with probability exp(-numerator / denominator): Algorithm 1.
//   numerator <= denominator, denominator >= 1
bool DrawExpMinus(uint32_t numerator, uint32_t denominator, RandomStream* random);

// A draw with sigma = numerator / denominator: Algorithm 3.
//   numerator    in [1, 2^31)
//   denominator  >= 1
int64_t DrawDiscreteGaussian(uint32_t numerator, uint32_t denominator, RandomStream* random);

}  // namespace sotto
