#include "sotto/layers/depthwise_conv2d.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

size_t Multiplier(const LayerInfo& info) { return info.output.channels / info.input.channels; }

// The input's values of a run, each as often as it has filters: [pixels][output channels].
const Real* Repeated(const LayerCall& call, const Run& run) {
  const Real* x = call.input + run.first_in_input * call.info.input.channels;
  const size_t multiplier = Multiplier(call.info);
  if (multiplier == 1) return x;
  Real* out = call.scratch;
  for (size_t i = 0; i < run.pixels * call.info.input.channels; ++i) {
    for (size_t j = 0; j < multiplier; ++j) *out++ = x[i];
  }
  return call.scratch;
}

// Adds to the input's delta what a run's weights [pixels][output channels] pass on.
void AddRunDelta(const LayerCall& call, const Run& run, const Real* weights, const Real* delta) {
  Real* x = call.input + run.first_in_input * call.info.input.channels;
  const size_t n = call.info.output.channels;
  const size_t multiplier = Multiplier(call.info);
  if (multiplier == 1) {
    AddScaledColumns(weights, delta, run.pixels, n, x);
    return;
  }
  FillZero(run.pixels * n, call.scratch);
  AddScaledColumns(weights, delta, run.pixels, n, call.scratch);
  const Real* products = call.scratch;
  for (size_t i = 0; i < run.pixels * call.info.input.channels; ++i) {
    Real sum{0};
    for (size_t j = 0; j < multiplier; ++j) sum += *products++;
    x[i] += sum;
  }
}

}  // namespace

void DepthwiseConv2dForward(const LayerCall& call) {
  const size_t n = call.info.output.channels;
  const Real* bias = call.parameters + call.info.window.size() * n;
  Real* y = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    Copy(bias, n, y);
    ForEachRun(call.info, at, [&](const Run& run) {
      AddRowProducts(call.parameters + run.first_in_window * n, Repeated(call, run), run.pixels, n,
                     y);
    });
    y += n;
  });
}

void DepthwiseConv2dAddGradient(const LayerCall& call, Real* gradient) {
  const size_t n = call.info.output.channels;
  Real* bias = gradient + call.info.window.size() * n;
  const Real* delta = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    ForEachRun(call.info, at, [&](const Run& run) {
      AddScaledColumns(Repeated(call, run), delta, run.pixels, n,
                       gradient + run.first_in_window * n);
    });
    AddScaled(Real{1}, delta, n, bias);
    delta += n;
  });
}

void DepthwiseConv2dInputDelta(const LayerCall& call) {
  const size_t n = call.info.output.channels;
  const Real* delta = call.output;
  FillZero(call.info.input.size(), call.input);
  ForEachWindow(call.info, [&](const Clipped& at) {
    ForEachRun(call.info, at, [&](const Run& run) {
      AddRunDelta(call, run, call.parameters + run.first_in_window * n, delta);
    });
    delta += n;
  });
}

}  // namespace sotto::nn::internal
