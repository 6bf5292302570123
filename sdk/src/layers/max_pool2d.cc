#include "sotto/layers/max_pool2d.h"

#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

// Index of the first largest value of a channel beneath the window.
size_t Largest(const LayerInfo& info, const Clipped& at, const Real* input, size_t channel) {
  const size_t channels = info.input.channels;
  const auto index = [&](uint32_t row, uint32_t column) {
    return (size_t{row} * info.input.width + column) * channels + channel;
  };
  size_t largest = index(at.first_row, at.first_column);
  for (uint32_t row = at.first_row; row < at.end_row; ++row) {
    for (uint32_t column = at.first_column; column < at.end_column; ++column) {
      const size_t i = index(row, column);
      if (input[i] > input[largest]) largest = i;
    }
  }
  return largest;
}

}  // namespace

void MaxPool2dForward(const LayerCall& call) {
  Real* y = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    for (size_t c = 0; c < call.info.input.channels; ++c) {
      *y++ = call.input[Largest(call.info, at, call.input, c)];
    }
  });
}

// Windows that do not overlap: the input becomes its delta window by window, and what lies beneath
// no window becomes zero.
void MaxPool2dInputDelta(const LayerCall& call) {
  const LayerInfo& info = call.info;
  const size_t channels = info.input.channels;
  const Real* delta = call.output;
  ForEachWindow(info, [&](const Clipped& at) {
    for (size_t c = 0; c < channels; ++c) {
      const size_t largest = Largest(info, at, call.input, c);
      for (uint32_t row = at.first_row; row < at.end_row; ++row) {
        for (uint32_t column = at.first_column; column < at.end_column; ++column) {
          call.input[(size_t{row} * info.input.width + column) * channels + c] = Real{0};
        }
      }
      call.input[largest] = *delta++;
    }
  });
  ForEachUncovered(info, [&](uint32_t row, uint32_t column) {
    FillZero(channels, call.input + (size_t{row} * info.input.width + column) * channels);
  });
}

void OverlappingMaxPool2dInputDelta(const LayerCall& call) {
  const size_t n = call.info.input.size();
  Copy(call.input, n, call.scratch);
  FillZero(n, call.input);
  const Real* delta = call.output;
  ForEachWindow(call.info, [&](const Clipped& at) {
    for (size_t c = 0; c < call.info.input.channels; ++c) {
      call.input[Largest(call.info, at, call.scratch, c)] += *delta++;
    }
  });
}

}  // namespace sotto::nn::internal
