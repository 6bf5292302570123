// Random shares for partitions, the same on every machine. Part of sotto::data.
//
// C libraries' exp and log differ in the last place. So this file has its exp and log of double:
// additions, multiplications, divisions and square roots of IEEE 754 in a fixed order, compiled
// without fused multiply-add. One thread at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "sotto/random.h"

namespace sotto {

// Natural logarithm of a normal x > 0. Error at most 4 units in the last place but near 1, where it
// is at most 1e-16.
double LogOf(double x);

// e^x for x <= 0. Error at most 4 units in the last place; 0 below -700.
double ExpOf(double x);

// A draw from the symmetric Dirichlet distribution of concentration alpha: `count` numbers >= 0
// whose sum is 1 up to rounding. It is computed from logarithms of gamma variates (Marsaglia and
// Tsang: A Simple Method for Generating Gamma Variables, 2000), so a small alpha, for which
// variates are below the least double, gives shares, too.
//   count  >= 1
//   alpha  in [kLeastAlpha, kMostAlpha]
std::vector<double> DrawDirichlet(size_t count, double alpha, RandomStream& random);

constexpr double kLeastAlpha = 1e-3;
constexpr double kMostAlpha = 1e6;

// A uniform number in (0, 1), a multiple of 2^-53.
double DrawUniform(RandomStream& random);

}  // namespace sotto
