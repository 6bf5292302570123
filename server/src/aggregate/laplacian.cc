// The estimator `laplacian`: the mean, with each tensor smoothed on its own. Part of
// sotto::server/aggregate.
//
//   axes 1  along the whole tensor, flattened in the order that the options name. The order
//           "natural" is that of the parameters, OHWI; the first and the last element are
//           neighbours (smoothing.h).
//   axes 2  a tensor over an image along its rows and columns: of a convolution the kernel of each
//           pair of output and input channel, of a dense layer behind an image the weights of each
//           output and channel. Tensors that see no image are smoothed as with 1.
//
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing",
// Algorithm 1 (DP-Fed-LS), and Table 5 for orders. The paper's letters W and H name PyTorch's third
// and fourth axis, which are H and W here: its OIWH, OIHW, OWHI and OHWI are OIHW, OIWH, OHWI and
// OWHI. Two axes are Sotto's own.
#include <algorithm>
#include <memory>
#include <stdexcept>

#include "aggregate/estimator.h"
#include "aggregate/options.h"
#include "aggregate/smoothing.h"

namespace sotto::server {
namespace {

constexpr char kPlanes[] = "OIHW";  // an image for each output and channel

// Applies a function to the values in another order.
template <class Change>
void InOrder(const std::vector<uint32_t>& positions, Span<float> values, Change change) {
  std::vector<float> flat(values.size());
  for (size_t i = 0; i < flat.size(); ++i) flat[i] = values[positions[i]];
  change(Span<float>(flat.data(), flat.size()));
  for (size_t i = 0; i < flat.size(); ++i) values[positions[i]] = flat[i];
}

class Laplacian : public Estimator {
 public:
  explicit Laplacian(const AggregationOptions& options) : options_(options) {}

  std::vector<float> Estimate(const NoisySum& noisy) const override {
    return MeanChanged(noisy, [this](const TrainedTensor& tensor, Span<float> values) {
      if (options_.smoothing_axes == 2 && tensor.has_image()) {
        SmoothImages(tensor, values);
      } else {
        SmoothFlat(tensor, values);
      }
    });
  }

  void RequireUseful(Span<const TrainedTensor> tensors) const override {
    const bool has_image = std::any_of(tensors.begin(), tensors.end(),
                                       [](const TrainedTensor& each) { return each.has_image(); });
    if (options_.smoothing_axes != 2 || has_image) return;
    throw std::invalid_argument(
        "--smoothing-axes 2: no layer of this model has rows and columns that it knows of; if its "
        "samples are images, name their height and width, for example --smoothing-image 28x28");
  }

 private:
  void SmoothFlat(const TrainedTensor& tensor, Span<float> values) const {
    const auto smooth = [this](Span<float> flat) { SmoothLaplacian(flat, options_.smoothing); };
    if (options_.smoothing_order == kNaturalOrder) {
      smooth(values);
    } else {
      InOrder(Flattened(tensor, options_.smoothing_order), values, smooth);
    }
  }

  void SmoothImages(const TrainedTensor& tensor, Span<float> values) const {
    const size_t height = tensor.Extent('H');
    const size_t width = tensor.Extent('W');
    InOrder(Flattened(tensor, kPlanes), values, [&](Span<float> images) {
      SmoothImagesLaplacian(images, height, width, options_.smoothing);
    });
  }

  AggregationOptions options_;
};

bool IsOrder(const std::string& order) {
  const std::string letters = "HIOW";
  std::string sorted = order;
  std::sort(sorted.begin(), sorted.end());
  return order == kNaturalOrder || sorted == letters;
}

}  // namespace

std::unique_ptr<const Estimator> MakeLaplacian(const AggregationOptions& options) {
  if (!(options.smoothing > 0 && options.smoothing <= kMaxSmoothingFactor)) {
    throw std::invalid_argument(
        "the smoothing factor (--smoothing) is above 0 and at most 1e6 for --estimator laplacian");
  }
  if (!IsOrder(options.smoothing_order)) {
    throw std::invalid_argument("--smoothing-order is natural or a permutation of OHWI");
  }
  if (options.smoothing_axes != 1 && options.smoothing_axes != 2) {
    throw std::invalid_argument("--smoothing-axes is 1 or 2");
  }
  return std::make_unique<Laplacian>(options);
}

}  // namespace sotto::server
