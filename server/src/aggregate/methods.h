// The estimators and optimisers, by name. Part of sotto::server/aggregate.
//
// To add a method: a .cc file with its class and its factory, a row of its table in methods.cc, its
// parameters in options.h and in the job's specification (spec/job_spec.cc), its line in
// CMakeLists.txt, a test.
//
// All functions are safe from any thread.
#ifndef SOTTO_AGGREGATE_METHODS_H_
#define SOTTO_AGGREGATE_METHODS_H_

#include <memory>

#include "aggregate/estimator.h"
#include "aggregate/optimiser.h"
#include "aggregate/options.h"

namespace sotto::server {

struct EstimatorInfo {
  const char* name;
  // True if the options ask for this method. The first row always returns true, and every other row
  // takes precedence over it.
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

// The method that the options ask for, or else the default. Both throw std::invalid_argument if the
// options ask for two methods.
const EstimatorInfo& ChooseEstimator(const AggregationOptions& options);
const OptimiserInfo& ChooseOptimiser(const AggregationOptions& options);

// Make the chosen method. Both also throw std::invalid_argument for parameters out of range.
std::unique_ptr<const Estimator> MakeEstimator(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeOptimiser(const AggregationOptions& options);

}  // namespace sotto::server

#endif  // SOTTO_AGGREGATE_METHODS_H_
