#include "sotto/layers/max_pool2d.h"

#include <limits>

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

constexpr Real kInfinity = std::numeric_limits<Real>::infinity();

void KeepLarger(const Real* __restrict x, size_t n, Real* __restrict y) {
  for (size_t i = 0; i < n; ++i) y[i] = x[i] > y[i] ? x[i] : y[i];
}

// largest [channels] <- those beneath the window.
void FindLargest(const LayerCall& call, const Clipped& at, Real* largest) {
  const size_t channels = call.info.input.channels;
  const size_t first = size_t{at.first_row} * call.info.input.width + at.first_column;
  Copy(call.input + first * channels, channels, largest);
  ForEachPixel(call, at, [&](const Real* x) { KeepLarger(x, channels, largest); });
}

// x <- its delta, the next pixel of a window. A largest value that was met becomes infinity, which
// no other reaches.
void PassToLargest(const Real* __restrict delta, size_t n, Real* __restrict largest,
                   Real* __restrict x) {
  for (size_t i = 0; i < n; ++i) {
    const Real old = largest[i];
    const bool is_less = x[i] < old;
    const Real passed = delta[i];
    x[i] = is_less ? Real{0} : passed;
    largest[i] = is_less ? old : kInfinity;
  }
}

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
    FindLargest(call, at, y);
    y += call.info.input.channels;
  });
}

// Windows that do not overlap: the input becomes its delta window by window, and what lies beneath
// no window becomes zero.
void MaxPool2dInputDelta(const LayerCall& call) {
  const LayerInfo& info = call.info;
  const size_t channels = info.input.channels;
  const Real* delta = call.output;
  ForEachWindow(info, [&](const Clipped& at) {
    FindLargest(call, at, call.scratch);
    ForEachPixel(call, at, [&](Real* x) { PassToLargest(delta, channels, call.scratch, x); });
    delta += channels;
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
