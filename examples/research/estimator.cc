// An estimator: the mean, with the SHARE of each tensor's largest elements pulled in to the next
// one. --estimator trimmed, or trimmed:SHARE.
#include <algorithm>
#include <cmath>
#include <vector>

#include "methods.h"

using namespace sotto::server;

namespace {

class Trimmed : public Estimator {
 public:
  explicit Trimmed(double share) : share_(share) {}

  std::vector<float> Estimate(const NoisySum& noisy) const override {
    return MeanChanged(noisy, [this](const TrainedTensor&, sotto::Span<float> values) {
      const auto cut = static_cast<size_t>(share_ * static_cast<double>(values.size()));
      if (cut == 0) return;
      std::vector<float> sizes;
      for (const float v : values) sizes.push_back(std::fabs(v));
      std::nth_element(sizes.begin(), sizes.end() - 1 - static_cast<std::ptrdiff_t>(cut),
                       sizes.end());
      const float most = *(sizes.end() - 1 - static_cast<std::ptrdiff_t>(cut));
      for (float& v : values) v = std::clamp(v, -most, most);
    });
  }

 private:
  double share_;
};

}  // namespace

std::unique_ptr<const Estimator> MakeTrimmed(const AggregationOptions& options) {
  return std::make_unique<Trimmed>(
      OwnNumber("--estimator", options.estimator.value_or("trimmed"), 0.01, 0, 0.5));
}
