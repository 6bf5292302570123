// The estimators and optimisers, by name. Part of sotto::server/aggregate.
//
// A method more is a .cc file with its class and its factory, a row of its table in methods.cc, its
// parameters in options.h and in the job's specification, its line in CMakeLists.txt and its test.
#ifndef SOTTO_AGGREGATE_METHODS_H_
#define SOTTO_AGGREGATE_METHODS_H_

#include <memory>

#include "aggregate/estimator.h"
#include "aggregate/optimiser.h"
#include "aggregate/options.h"

namespace sotto::server {

struct EstimatorInfo {
  const char* name;
  // Whether the options ask for this one. True for the first row, which others take precedence of.
  bool (*asked_for)(const AggregationOptions& options);
  // Throws std::invalid_argument for parameters out of range.
  std::unique_ptr<const Estimator> (*make)(const AggregationOptions& options);
};

struct OptimiserInfo {
  const char* name;
  bool (*asked_for)(const AggregationOptions& options);
  std::unique_ptr<Optimiser> (*make)(const AggregationOptions& options);
};

// The first row is the default: "mean"; "sgd".
Span<const EstimatorInfo> Estimators();
Span<const OptimiserInfo> Optimisers();

// The one that the options ask for, or else the default. Throw std::invalid_argument if they ask
// for two.
const EstimatorInfo& ChooseEstimator(const AggregationOptions& options);
const OptimiserInfo& ChooseOptimiser(const AggregationOptions& options);

// The same, made. Throw std::invalid_argument for parameters out of range as well.
std::unique_ptr<const Estimator> MakeEstimator(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeOptimiser(const AggregationOptions& options);

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_METHODS_H_
