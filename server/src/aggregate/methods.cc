#include "aggregate/methods.h"

#include <stdexcept>
#include <string>

namespace sotto::server {

// The factories. Each is defined in the file of its name.
std::unique_ptr<const Estimator> MakeMean(const AggregationOptions& options);
std::unique_ptr<const Estimator> MakeLaplacian(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeSgd(const AggregationOptions& options);

namespace {

bool ByDefault(const AggregationOptions&) { return true; }

constexpr EstimatorInfo kEstimators[] = {
    {"mean", ByDefault, MakeMean},
    {"laplacian", [](const AggregationOptions& o) { return o.smoothing != 0; }, MakeLaplacian},
};

constexpr OptimiserInfo kOptimisers[] = {
    {"sgd", ByDefault, MakeSgd},
};

template <class Info>
const Info& Choose(Span<const Info> table, const AggregationOptions& options) {
  const Info* chosen = &table[0];
  for (const Info& info : table.subspan(1)) {
    if (!info.asked_for(options)) continue;
    if (chosen != &table[0]) {
      throw std::invalid_argument(std::string("the aggregation methods ") + chosen->name + " and " +
                                  info.name + " exclude each other");
    }
    chosen = &info;
  }
  return *chosen;
}

}  // namespace

Span<const EstimatorInfo> Estimators() { return kEstimators; }
Span<const OptimiserInfo> Optimisers() { return kOptimisers; }

const EstimatorInfo& ChooseEstimator(const AggregationOptions& options) {
  return Choose(Estimators(), options);
}

const OptimiserInfo& ChooseOptimiser(const AggregationOptions& options) {
  return Choose(Optimisers(), options);
}

std::unique_ptr<const Estimator> MakeEstimator(const AggregationOptions& options) {
  return ChooseEstimator(options).make(options);
}

std::unique_ptr<Optimiser> MakeOptimiser(const AggregationOptions& options) {
  return ChooseOptimiser(options).make(options);
}

void Optimiser::Restore(ByteSpan state) {
  if (!state.empty()) {
    throw std::runtime_error("the stored state is not that of the job's optimiser");
  }
}

}  // namespace sotto::server
