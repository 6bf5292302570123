// The estimator `mean`: the plain estimate. Part of sotto::server/aggregate.
#include <memory>
#include <stdexcept>

#include "aggregate/estimator.h"
#include "aggregate/options.h"

namespace sotto::server {
namespace {

class Mean : public Estimator {
 public:
  std::vector<float> Estimate(const NoisySum& noisy) const override { return MeanUpdate(noisy); }
};

void RequireValid(const NoisySum& noisy) {
  size_t parameters = 0;
  for (const TrainedTensor& tensor : noisy.tensors) parameters += tensor.size();
  if (noisy.sum.empty() || noisy.sum.size() != parameters) {
    throw std::invalid_argument("the sum must have the model's size");
  }
  if (!(noisy.unit > 0) || !(noisy.divisor > 0)) {
    throw std::invalid_argument("unit and divisor must be positive");
  }
}

}  // namespace

std::vector<float> MeanUpdate(const NoisySum& noisy) {
  RequireValid(noisy);
  const double scale = noisy.unit / noisy.divisor;
  std::vector<float> update(noisy.sum.size());
  for (size_t j = 0; j < update.size(); ++j) {
    update[j] = static_cast<float>(static_cast<double>(noisy.sum[j]) * scale);
  }
  return update;
}

std::unique_ptr<const Estimator> MakeMean(const AggregationOptions&) {
  return std::make_unique<Mean>();
}

}  // namespace sotto::server
