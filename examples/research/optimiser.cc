// An optimiser: lion, after Chen et al., "Symbolic Discovery of Optimization Algorithms" (2023).
//   w += eta sign(beta m + (1 - beta) u),  m <- 0.99 m + 0.01 u    (m begins at 0)
// of an update u. --server-optimiser lion, or lion:BETA; eta is --server-learning-rate.
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "methods.h"

using namespace sotto::server;

namespace {

class Lion : public Optimiser {
 public:
  Lion(double rate, double beta) : rate_(rate), beta_(beta) {}

  bool Step(sotto::Span<const float> update, sotto::Span<float> parameters) override {
    if (update.size() != parameters.size()) throw std::invalid_argument("the sizes differ");
    // What is not finite leaves parameters and state as they were.
    for (const float u : update) {
      if (!std::isfinite(u)) return false;
    }
    mean_.resize(update.size());  // zeros before the first step
    for (size_t j = 0; j < update.size(); ++j) {
      const double along = beta_ * mean_[j] + (1 - beta_) * update[j];
      const double sign = along > 0 ? 1 : along < 0 ? -1 : 0;
      parameters[j] = static_cast<float>(parameters[j] + rate_ * sign);
      mean_[j] = static_cast<float>(0.99 * mean_[j] + 0.01 * update[j]);
    }
    return true;
  }

  // The state as bytes, so that --resume and `serve` go on where they ended.
  std::vector<uint8_t> State() const override {
    std::vector<uint8_t> bytes(mean_.size() * sizeof(float));
    if (!bytes.empty()) std::memcpy(bytes.data(), mean_.data(), bytes.size());
    return bytes;
  }

  void Restore(sotto::ByteSpan state) override {
    if (state.size() % sizeof(float) != 0) throw std::runtime_error("this is no state of lion");
    mean_.resize(state.size() / sizeof(float));
    if (!mean_.empty()) std::memcpy(mean_.data(), state.data(), state.size());
  }

 private:
  double rate_;
  double beta_;
  std::vector<float> mean_;
};

}  // namespace

std::unique_ptr<Optimiser> MakeLion(const AggregationOptions& options) {
  const double beta = OwnNumber("--server-optimiser", options.server_optimiser, 0.9, 0, 0.999999);
  return std::make_unique<Lion>(options.server_learning_rate, beta);
}
