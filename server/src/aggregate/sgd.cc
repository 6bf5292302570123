// The optimiser `sgd`: parameters += learning rate * update. It has no state. Part of
// sotto::server/aggregate.
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "aggregate/optimiser.h"
#include "aggregate/options.h"

namespace sotto::server {
namespace {

class Sgd : public Optimiser {
 public:
  explicit Sgd(double learning_rate) : learning_rate_(learning_rate) {}

  bool Step(Span<const float> update, Span<float> parameters) override {
    if (update.size() != parameters.size()) {
      throw std::invalid_argument("update and parameters must have the model's size");
    }
    std::vector<float> next(update.size());
    for (size_t j = 0; j < next.size(); ++j) {
      next[j] = static_cast<float>(static_cast<double>(parameters[j]) +
                                   learning_rate_ * static_cast<double>(update[j]));
      if (!std::isfinite(next[j])) return false;
    }
    std::copy(next.begin(), next.end(), parameters.begin());
    return true;
  }

 private:
  double learning_rate_;
};

}  // namespace

std::unique_ptr<Optimiser> MakeSgd(const AggregationOptions& options) {
  if (!(std::isfinite(options.server_learning_rate) && options.server_learning_rate > 0)) {
    throw std::invalid_argument("the server's learning rate is finite and positive");
  }
  return std::make_unique<Sgd>(options.server_learning_rate);
}

}  // namespace sotto::server
