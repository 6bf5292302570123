#include "aggregate/methods.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <stdexcept>

#include "aggregate/model_average.h"
#include "aggregate/released_grid.h"
#include "sotto/options/open_table.h"
#include "sotto/research/methods.h"

namespace sotto::server {

// The factories. They are defined in estimators.cc and optimisers.cc.
std::unique_ptr<const Estimator> MakeMean(const AggregationOptions& options);
std::unique_ptr<const Estimator> MakeLaplacian(const AggregationOptions& options);
std::unique_ptr<const Estimator> MakeJamesStein(const AggregationOptions& options);
std::unique_ptr<const Estimator> MakeJamesSteinPlus(const AggregationOptions& options);
std::unique_ptr<const Estimator> MakeSoftThreshold(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeSgd(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeMomentum(const AggregationOptions& options);
std::unique_ptr<Optimiser> MakeAdam(const AggregationOptions& options);

namespace {

constexpr EstimatorInfo kEstimators[] = {
    {"mean", nullptr, MakeMean},
    {"laplacian", [](const AggregationOptions& o) { return o.smoothing != 0; }, MakeLaplacian},
    {"james-stein", nullptr, MakeJamesStein},
    {"james-stein-plus", nullptr, MakeJamesSteinPlus},
    {"soft-threshold", nullptr, MakeSoftThreshold},
};

constexpr OptimiserInfo kOptimisers[] = {
    {"sgd", MakeSgd},
    {"momentum", MakeMomentum},
    {"adam", MakeAdam},
};

template <class Info>
const char* NameOf(const Info& info) {
  return info.name;
}

posix::OpenTable<EstimatorInfo>& EstimatorTable() {
  static posix::OpenTable<EstimatorInfo> table("estimator", kEstimators, NameOf<EstimatorInfo>);
  return table;
}

posix::OpenTable<OptimiserInfo>& OptimiserTable() {
  static posix::OpenTable<OptimiserInfo> table("optimiser", kOptimisers, NameOf<OptimiserInfo>);
  return table;
}

template <class Info>
std::vector<std::string> NamesOf(Span<const Info> table) {
  std::vector<std::string> names;
  for (const Info& info : table) {
    names.push_back(info.value == nullptr ? info.name
                                          : fmt::format("{}[:{}]", info.name, info.value));
  }
  return names;
}

template <class Info>
const Info& Find(const char* option, const std::string& name, Span<const Info> table) {
  for (const Info& info : table) {
    const bool is_named =
        info.value == nullptr ? name == info.name : posix::NameOfText(name) == info.name;
    if (is_named) return info;
  }
  throw std::invalid_argument(fmt::format("{} {}: there is no such name; there are: {}", option,
                                          name, fmt::join(NamesOf(table), ", ")));
}

}  // namespace

void AddEstimator(const OwnEstimator& own) {
  EstimatorTable().Add({own.name, nullptr, own.make, own.value});
}

void AddOptimiser(const OwnOptimiser& own) {
  OptimiserTable().Add({own.name, own.make, own.value});
}

double OwnNumber(const char* option, const std::string& text, double absent, double least,
                 double most) {
  return posix::NumberOfText(option, text, absent, least, most);
}

Span<const EstimatorInfo> Estimators() { return EstimatorTable().rows(); }
Span<const OptimiserInfo> Optimisers() { return OptimiserTable().rows(); }
std::vector<std::string> EstimatorNames() { return NamesOf(Estimators()); }
std::vector<std::string> OptimiserNames() { return NamesOf(Optimisers()); }

const EstimatorInfo& ChooseEstimator(const AggregationOptions& options) {
  const EstimatorInfo* chosen = nullptr;
  if (options.estimator) chosen = &Find("--estimator", *options.estimator, Estimators());
  for (const EstimatorInfo& info : Estimators()) {
    if (info.implied == nullptr || !info.implied(options) || chosen == &info) continue;
    if (chosen != nullptr) {
      throw std::invalid_argument(fmt::format(
          "--estimator {}: the other options ask for the estimator {}; leave --estimator or them "
          "out",
          chosen->name, info.name));
    }
    chosen = &info;
  }
  return chosen == nullptr ? Estimators()[0] : *chosen;
}

const OptimiserInfo& ChooseOptimiser(const AggregationOptions& options) {
  return Find("--server-optimiser", options.server_optimiser, Optimisers());
}

std::unique_ptr<const Estimator> MakeEstimator(const AggregationOptions& options) {
  return ChooseEstimator(options).make(options);
}

std::unique_ptr<Optimiser> MakeOptimiser(const AggregationOptions& options) {
  if (!(options.grid >= 0 && options.grid <= kMostGridFactor)) {
    throw std::invalid_argument(fmt::format("--grid is in [0, {}]", kMostGridFactor));
  }
  std::unique_ptr<Optimiser> optimiser = ChooseOptimiser(options).make(options);
  if (options.grid > 0) optimiser = MakeGrid(options.grid, std::move(optimiser));
  const std::optional<double> growth = AverageGrowth(options.average);
  return growth ? MakeAveraging(*growth, std::move(optimiser)) : std::move(optimiser);
}

void Optimiser::Restore(ByteSpan state) {
  if (!state.empty()) {
    throw std::runtime_error("the stored state does not belong to the job's optimiser");
  }
}

}  // namespace sotto::server
