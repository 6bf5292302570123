// MaxPool2d in fixed point. The raw integers are in the order of the numbers.
#include "base/exact_arithmetic.h"
#include "nn/fixed_net_kernels.h"
#include "nn/windows.h"
#include "sotto/layers/max_pool2d.h"

namespace sotto::nn::internal {
namespace {

// The first largest value of a channel beneath the window.
struct Largest {
  int32_t value = INT32_MIN;
  size_t index = 0;  // in the tensor
};

// Calls visit(i) for each index i of a channel beneath the window, in the order of memory.
template <class Visit>
void ForEachIndex(const LayerInfo& info, const Clipped& at, size_t channel, Visit visit) {
  const size_t channels = info.input.channels;
  ForEachRun(info, at, [&](const Run& run) {
    const size_t first = run.first_in_input * channels + channel;
    for (size_t i = first; i < first + run.pixels * channels; i += channels) visit(i);
  });
}

Largest FindLargest(const LayerInfo& info, const Clipped& at, const float* input, size_t channel) {
  Largest largest;
  bool is_first = true;
  ForEachIndex(info, at, channel, [&](size_t i) {
    const int32_t value = LoadRaw(input + i);
    if (is_first || value > largest.value) largest = {value, i};
    is_first = false;
  });
  return largest;
}

}  // namespace

void FixedMaxPool2dForward(const LayerCall& call) {
  float* y = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    for (size_t c = 0; c < call.info.input.channels; ++c) {
      StoreRaw(FindLargest(call.info, at, call.input, c).value, y++);
    }
  });
}

// Windows that do not overlap: the input becomes its delta window by window, and what lies beneath
// no window becomes zero.
void FixedMaxPool2dInputDelta(const LayerCall& call) {
  const LayerInfo& info = call.info;
  const size_t channels = info.input.channels;
  const float* delta = call.output;
  ForEachWindow(info, [&](const Clipped& at) {
    for (size_t c = 0; c < channels; ++c) {
      const size_t largest = FindLargest(info, at, call.input, c).index;
      ForEachIndex(info, at, c, [&](size_t i) { StoreRaw(0, call.input + i); });
      StoreRaw(LoadRaw(delta++), call.input + largest);
    }
  });
  ForEachUncovered(info, [&](uint32_t row, uint32_t column) {
    float* const pixel = call.input + (size_t{row} * info.input.width + column) * channels;
    __builtin_memset(pixel, 0, channels * sizeof(float));
  });
}

void FixedOverlappingMaxPool2dInputDelta(const LayerCall& call) {
  const size_t size = call.info.input.size() * sizeof(float);
  __builtin_memcpy(call.scratch, call.input, size);
  __builtin_memset(call.input, 0, size);
  const float* delta = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    for (size_t c = 0; c < call.info.input.channels; ++c) {
      const size_t largest = FindLargest(call.info, at, call.scratch, c).index;
      *call.saturated |= FixedAdd(delta++, 1, call.input + largest);
    }
  });
}

}  // namespace sotto::nn::internal
