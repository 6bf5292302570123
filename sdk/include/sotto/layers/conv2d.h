// A convolution over height and width: at each position of the window, y = W patch + b. Part of
// sotto/nn.
//
// Parameters: W row-major [outputs][window height][window width][input channels], then b [outputs].
// So a patch, the input's values beneath the window, is one row's vector, and a convolution is a
// fully connected layer over gathered patches. (PyTorch has [outputs][channels][height][width].)
#ifndef SOTTO_LAYERS_CONV2D_H_
#define SOTTO_LAYERS_CONV2D_H_

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void Conv2dForward(const LayerCall& call);
void Conv2dAddGradient(const LayerCall& call, Real* gradient);
void Conv2dInputDelta(const LayerCall& call);

}  // namespace internal

constexpr LayerPlan PlanConv2d(const Shape& input, uint32_t outputs, const Window& window) {
  const uint32_t patch = window.height * window.width * input.channels;
  const Shape output = {window.Positions(input.height, window.height),
                        window.Positions(input.width, window.width), outputs};
  return {{LayerKind::kConv2d, input, output, window},
          {internal::Conv2dForward, internal::Conv2dAddGradient, internal::Conv2dInputDelta},
          outputs * patch + outputs,
          outputs * patch,
          patch,
          0,
          patch,
          false};
}

}  // namespace nn
}  // namespace sotto

#endif  // SOTTO_LAYERS_CONV2D_H_
