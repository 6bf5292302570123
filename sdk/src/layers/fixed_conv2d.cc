// Conv2d in fixed point. The same as in conv2d.cc: at each position a fully connected layer over
// the gathered patch.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "nn/windows.h"
#include "sotto/layers/conv2d.h"

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

void ClearPadding(const LayerCall& call, const Clipped& at) {
  if (IsWhole(call.info, at)) return;
  __builtin_memset(call.scratch, 0, PatchSize(call.info) * sizeof(float));
}

}  // namespace

void FixedConv2dForward(const LayerCall& call) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const int shift = OperandShift(n);
  const float* bias = call.parameters + n * outputs;
  float* y = call.output;
  bool saturated = false;
  ForEachWindow(call.info, [&](const Clipped& at) {
    ClearPadding(call, at);
    ForEachSlice(call, at, [&](float* patch, const float* input, size_t count) {
      FixedShift(input, count, shift, patch);
    });
    saturated |= FixedRowProducts(call.parameters, bias, call.scratch, n, outputs, y);
    y += outputs;
  });
  *call.saturated |= saturated;
}

// A position whose delta is zero, as most are behind max pooling, adds nothing.
void FixedConv2dAddGradient(const LayerCall& call, float* gradient) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const float* delta = call.output;
  bool saturated = false;
  ForEachWindow(call.info, [&](const Clipped& at) {
    if (!IsZeroRaw(delta, outputs)) {
      ClearPadding(call, at);
      ForEachSlice(call, at, [](float* patch, const float* input, size_t count) {
        __builtin_memcpy(patch, input, count * sizeof(float));
      });
      saturated |= FixedAddOuterProduct(delta, outputs, call.scratch, n, gradient);
      saturated |= FixedAddDeltas(delta, outputs, gradient + n * outputs);
    }
    delta += outputs;
  });
  *call.saturated |= saturated;
}

void FixedConv2dInputDelta(const LayerCall& call) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  FixedShift(call.output, call.info.output.size(), OperandShift(outputs), call.output);
  __builtin_memset(call.input, 0, call.info.input.size() * sizeof(float));
  const float* delta = call.output;
  bool saturated = false;
  ForEachWindow(call.info, [&](const Clipped& at) {
    if (!IsZeroRaw(delta, outputs)) {
      saturated |= FixedTransposedProduct(call.parameters, delta, n, outputs, call.scratch);
      ForEachSlice(call, at, [&](const float* patch, float* input, size_t count) {
        saturated |= FixedAdd(patch, count, input);
      });
    }
    delta += outputs;
  });
  *call.saturated |= saturated;
}

}  // namespace sotto::nn::internal
