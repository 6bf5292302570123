// The estimators. Part of sotto::server/aggregate.
//
//   mean       the plain estimate
//   laplacian  the mean, with each tensor smoothed on its own
//     axes 1  along the whole tensor, flattened in the order that the options name. The order
//             "natural" is the order of the parameters, OHWI; the first and the last element are
//             neighbours (smoothing.h).
//     axes 2  a tensor over an image along its rows and columns: of a convolution the kernel of
//             each pair of output and input channel, of a dense layer behind an image the weights
//             of each output and channel. Tensors that see no image are smoothed as with 1.
// Source: Liang et al., "Differentially Private Federated Learning with Laplacian Smoothing",
// Algorithm 1 (DP-Fed-LS), and Table 5 for orders. The paper's letters W and H name PyTorch's third
// and fourth axis, which are H and W here: its OIWH, OIHW, OWHI and OHWI are OIHW, OIWH, OHWI and
// OWHI. Two axes are Sotto's own.
//
// The others are the mean, with each tensor shrunk on its own by what the deviation s of its noise
// tells. Let v be a tensor of d elements of the mean update, each with noise of deviation s.
//   james-stein       v (1 - (d - 2) s^2 / |v|^2) for d >= 3; else v. The factor may be negative,
//                     as in the code of DP-Fed-LS.
//   james-stein-plus  the same with a factor of at least 0, which is never worse
//   soft-threshold    sign(v) max(|v| - s sqrt(2 ln d), 0), element by element
// Without noise each of them is the mean. Sums are in double, in the order of the elements.
// Source: Balle and Wang, "Improving the Gaussian Mechanism for Differential Privacy" (2018), which
// DP-Fed-LS compares with (Table 6).
#include <algorithm>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "aggregate/smoothing.h"
#include "aggregate/tensors.h"
#include "sotto/research/aggregation_options.h"
#include "sotto/research/estimator.h"

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

// What a tensor is multiplied by; at least `floor`.
double JamesSteinFactor(Span<const float> values, double sigma, double floor) {
  double energy = 0;
  for (const float value : values) {
    energy += static_cast<double>(value) * static_cast<double>(value);
  }
  if (values.size() < 3 || !(energy > 0)) return 1;
  const double noise = static_cast<double>(values.size() - 2) * sigma * sigma;
  return std::max(1 - noise / energy, floor);
}

class JamesStein : public Estimator {
 public:
  explicit JamesStein(double floor) : floor_(floor) {}

  std::vector<float> Estimate(const NoisySum& noisy) const override {
    return MeanChanged(noisy, [&](const TrainedTensor&, Span<float> values) {
      const double factor = JamesSteinFactor(values, noisy.noise_sigma, floor_);
      for (float& value : values) value = static_cast<float>(static_cast<double>(value) * factor);
    });
  }

 private:
  double floor_;
};

class SoftThreshold : public Estimator {
 public:
  std::vector<float> Estimate(const NoisySum& noisy) const override {
    return MeanChanged(noisy, [&](const TrainedTensor&, Span<float> values) {
      const double threshold =
          noisy.noise_sigma * std::sqrt(2 * std::log(static_cast<double>(values.size())));
      for (float& value : values) {
        const double magnitude = std::fabs(static_cast<double>(value)) - threshold;
        value = static_cast<float>(std::copysign(std::max(magnitude, 0.0), value));
      }
    });
  }
};

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

std::unique_ptr<const Estimator> MakeJamesStein(const AggregationOptions&) {
  return std::make_unique<JamesStein>(-HUGE_VAL);
}

std::unique_ptr<const Estimator> MakeJamesSteinPlus(const AggregationOptions&) {
  return std::make_unique<JamesStein>(0.0);
}

std::unique_ptr<const Estimator> MakeSoftThreshold(const AggregationOptions&) {
  return std::make_unique<SoftThreshold>();
}

}  // namespace sotto::server
