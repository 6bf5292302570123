// The estimators and optimisers, by name. Part of sotto::server/aggregate.
//
// To add a method: its class and its factory in estimators.cc or optimisers.cc, a row of its table
// in methods.cc, its parameters in options.h and in the job's specification
// (spec/aggregation_fields.cc), a test.
//
// All functions are safe from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "sotto/research/aggregation_options.h"
#include "sotto/research/estimator.h"
#include "sotto/research/optimiser.h"

namespace sotto::server {

struct EstimatorInfo {
  const char* name;
  // True if the options mean this method although they do not name it; null: never.
  bool (*implied)(const AggregationOptions& options);
  // Throws std::invalid_argument for parameters out of range.
  std::unique_ptr<const Estimator> (*make)(const AggregationOptions& options);
  const char* value = nullptr;  // what VALUE of NAME:VALUE is; null: there is none
};

struct OptimiserInfo {
  const char* name;
  std::unique_ptr<Optimiser> (*make)(const AggregationOptions& options);
  const char* value = nullptr;
};

// The first row is the default: "mean"; "sgd". Behind the rows of methods.cc come those that
// another program added (sotto/research/methods.h). A name with a VALUE reads NAME[:VALUE].
Span<const EstimatorInfo> Estimators();
Span<const OptimiserInfo> Optimisers();
std::vector<std::string> EstimatorNames();
std::vector<std::string> OptimiserNames();

// The method that the options name or imply, or else the default. Both throw std::invalid_argument
// for a name that is in no row, and if the options name one method and imply another.
const EstimatorInfo& ChooseEstimator(const AggregationOptions& options);
const OptimiserInfo& ChooseOptimiser(const AggregationOptions& options);

// Make the chosen method. The optimiser also puts the released models on a grid (released_grid.h)
// and averages them (model_average.h), if the options ask for that. Both also throw
// std::invalid_argument for parameters out of range.
std::unique_ptr<const Estimator> MakeEstimator(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeOptimiser(const AggregationOptions& options);

}  // namespace sotto::server
