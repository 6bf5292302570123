// What a few repeated measurements can show: Student's t, power, Holm's adjustment. Part of
// sotto::server/experiment.
//
// Of n differences with mean d and deviation s the standard error is e = s / sqrt(n), and the
// degrees of freedom are n - 1. A confidence interval of probability 1 - a is d +- t e, where t is
// the quantile 1 - a/2. Quantiles are right to 1e-8 relative for every number of degrees of
// freedom, whole or not.
//
// Pure functions: safe from any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace sotto::server {

// P(T > t) of Student's t.
//   freedom  degrees of freedom, at least 1
double StudentTail(double t, double freedom);

// The t with P(T <= t) = probability.
//   probability  in [0.5, 1)
//   freedom      at least 1
double StudentQuantile(double probability, double freedom);

// The probability that `count` differences, drawn from a normal distribution, have a 95 % interval
// on the true difference's side of zero.
//   count       at least 2
//   difference  the true mean; its sign does not matter
//   deviation   of one difference, above 0
double PowerToDiffer(size_t count, double difference, double deviation);

// The probability that they have a 90 % interval inside of (-within, within), if the true mean is
// 0: the power of two one-sided tests at 5 %. Source: Schuirmann, "A Comparison of the Two
// One-Sided Tests Procedure and the Power Approach" (1987).
double PowerToBeEqual(size_t count, double within, double deviation);

// The power that a number of seeds is chosen for, and the largest number that is looked at.
constexpr double kWantedPower = 0.8;
constexpr size_t kMostSeeds = 10000;

// The least number of seeds, from 2, with that power; absent: more than kMostSeeds.
std::optional<size_t> SeedsToDiffer(double difference, double deviation);
std::optional<size_t> SeedsToBeEqual(double within, double deviation);

// Holm's adjusted p values, in the order of `values`: all hypotheses whose adjusted value is at
// most a are rejected, and with probability 1 - a no true one is among them. Source: Holm, "A
// Simple Sequentially Rejective Multiple Test Procedure" (1979).
std::vector<double> HolmAdjusted(const std::vector<double>& values);

}  // namespace sotto::server
