#include "sotto/layers/conv2d.h"

#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

size_t PatchSize(const LayerInfo& info) { return size_t{info.window.size()} * info.input.channels; }

// Calls move(patch, input, n) for each run of n numbers that lie side by side in both.
template <class Move>
void ForEachSlice(const LayerCall& call, const Clipped& at, Move move) {
  const size_t channels = call.info.input.channels;
  ForEachRun(call.info, at, [&](const Run& run) {
    move(call.scratch + run.first_in_window * channels, call.input + run.first_in_input * channels,
         run.pixels * channels);
  });
}

bool IsWhole(const LayerInfo& info, const Clipped& at) {
  return at.end_row - at.first_row == info.window.rows.extent &&
         at.end_column - at.first_column == info.window.columns.extent;
}

void Gather(const LayerCall& call, const Clipped& at) {
  if (!IsWhole(call.info, at)) FillZero(PatchSize(call.info), call.scratch);
  ForEachSlice(call, at, [](Real* patch, const Real* input, size_t n) { Copy(input, n, patch); });
}

bool IsZero(const Real* values, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (values[i] != Real{0}) return false;
  }
  return true;
}

}  // namespace

void Conv2dForward(const LayerCall& call) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const Real* bias = call.parameters + n * outputs;
  Real* y = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    Gather(call, at);
    nn::DenseForward(call.parameters, bias, call.scratch, n, outputs, y);
    y += outputs;
  });
}

// A position whose delta is zero, as most are behind max pooling, adds nothing.
void Conv2dAddGradient(const LayerCall& call, Real* gradient) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const Real* delta = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    if (!IsZero(delta, outputs)) {
      Gather(call, at);
      AddOuterProduct(delta, outputs, call.scratch, n, gradient);
      AddScaled(Real{1}, delta, outputs, gradient + n * outputs);
    }
    delta += outputs;
  });
}

void Conv2dInputDelta(const LayerCall& call) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const Real* delta = call.output;
  FillZero(call.info.input.size(), call.input);
  ForEachWindow(call.info, [&](const Clipped& at) {
    if (!IsZero(delta, outputs)) {
      TransposedProduct(call.parameters, delta, n, outputs, call.scratch);
      ForEachSlice(call, at, [](const Real* patch, Real* input, size_t count) {
        AddScaled(Real{1}, patch, count, input);
      });
    }
    delta += outputs;
  });
}

}  // namespace sotto::nn::internal
