#include "aggregate/server_step.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <vector>

#include "aggregate/smoothing.h"

namespace sotto::server {
namespace {

void SmoothTensors(const ModelInfo& model, double factor, std::vector<float>& update) {
  size_t offset = 0;
  for (const nn::TensorInfo& tensor : model.tensors) {
    SmoothLaplacian({update.data() + offset, tensor.size()}, factor);
    offset += tensor.size();
  }
}

}  // namespace

bool ApplyServerStep(const ModelInfo& model, Span<const int64_t> sum,
                     const ServerStepOptions& options, Span<float> parameters) {
  if (sum.size() != model.parameters || parameters.size() != model.parameters) {
    throw std::invalid_argument("sum and parameters must have the model's size");
  }
  if (!(options.unit > 0) || !(options.divisor > 0) || !(options.learning_rate > 0)) {
    throw std::invalid_argument("unit, divisor and server learning rate must be positive");
  }
  const double scale = options.unit / options.divisor;
  std::vector<float> update(sum.size());
  for (size_t j = 0; j < sum.size(); ++j) {
    update[j] = static_cast<float>(static_cast<double>(sum[j]) * scale);
  }
  if (options.smoothing > 0) SmoothTensors(model, options.smoothing, update);
  for (size_t j = 0; j < update.size(); ++j) {
    update[j] = static_cast<float>(parameters[j] + options.learning_rate * update[j]);
    if (!std::isfinite(update[j])) return false;
  }
  std::copy(update.begin(), update.end(), parameters.begin());
  return true;
}

}  // namespace sotto::server
