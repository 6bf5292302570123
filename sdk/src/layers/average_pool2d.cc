#include "sotto/layers/average_pool2d.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

Real Share(const Clipped& at) {
  const uint32_t count = (at.end_row - at.first_row) * (at.end_column - at.first_column);
  return Real{1} / static_cast<Real>(count);
}

}  // namespace

void AveragePool2dForward(const LayerCall& call) {
  const size_t channels = call.info.input.channels;
  Real* y = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    FillZero(channels, y);
    ForEachPixel(call, at, [&](const Real* pixel) { AddScaled(Real{1}, pixel, channels, y); });
    Scale(Share(at), channels, y);
    y += channels;
  });
}

void AveragePool2dInputDelta(const LayerCall& call) {
  const size_t channels = call.info.input.channels;
  const Real* delta = call.output;
  FillZero(call.info.input.size(), call.input);
  ForEachWindow(call.info, [&](const Clipped& at) {
    const Real share = Share(at);
    ForEachPixel(call, at, [&](Real* pixel) { AddScaled(share, delta, channels, pixel); });
    delta += channels;
  });
}

}  // namespace sotto::nn::internal
