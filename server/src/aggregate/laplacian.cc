// The estimator `laplacian`: the mean, with each tensor smoothed on its own. Part of
// sotto::server/aggregate.
//
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing",
// Algorithm 1 (DP-Fed-LS).
#include <memory>
#include <stdexcept>

#include "aggregate/estimator.h"
#include "aggregate/options.h"
#include "aggregate/smoothing.h"

namespace sotto::server {
namespace {

class Laplacian : public Estimator {
 public:
  explicit Laplacian(double factor) : factor_(factor) {}

  std::vector<float> Estimate(const NoisySum& noisy) const override {
    std::vector<float> update = MeanUpdate(noisy);
    size_t offset = 0;
    for (const nn::TensorInfo& tensor : noisy.tensors) {
      SmoothLaplacian({update.data() + offset, tensor.size()}, factor_);
      offset += tensor.size();
    }
    return update;
  }

 private:
  double factor_;
};

}  // namespace

std::unique_ptr<const Estimator> MakeLaplacian(const AggregationOptions& options) {
  if (!(options.smoothing >= 0 && options.smoothing <= kMaxSmoothingFactor)) {
    throw std::invalid_argument("the smoothing factor is not negative and at most 1e6");
  }
  return std::make_unique<Laplacian>(options.smoothing);
}

}  // namespace sotto::server
