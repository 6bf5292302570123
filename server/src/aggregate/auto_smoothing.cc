#include "aggregate/auto_smoothing.h"

#include <algorithm>
#include <cmath>

namespace sotto::server {

double AutoSmoothing(const ModelInfo& model, double noise_sigma, double clip_l2) {
  const auto trained = std::count_if(model.layers.begin(), model.layers.end(),
                                     [](const nn::LayerPlan& each) { return each.trained() > 0; });
  const double norm = noise_sigma * std::sqrt(static_cast<double>(model.parameters));
  return trained == 1 && norm >= kAutoSmoothingNoise * clip_l2 ? kAutoSmoothingFactor : 0;
}

}  // namespace sotto::server
