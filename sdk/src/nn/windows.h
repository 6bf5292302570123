// The positions of a window over a tensor. Part of sotto/nn; private to the SDK.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/exact_arithmetic.h"
#include "sotto/layer.h"

namespace sotto::nn {

// A window at one position, cut off at the tensor's edges.
struct Clipped {
  int32_t top;         // of the window, may be in the padding
  int32_t left;        // the same
  uint32_t first_row;  // rows and columns of the tensor beneath it
  uint32_t end_row;
  uint32_t first_column;
  uint32_t end_column;
};

inline uint32_t NotBelowZero(int32_t x) { return x < 0 ? 0 : static_cast<uint32_t>(x); }
inline uint32_t NotAbove(int32_t x, uint32_t limit) {
  const uint32_t positive = NotBelowZero(x);
  return positive > limit ? limit : positive;
}

// Where a window begins at position p of an axis.
inline int32_t Begin(const Axis& axis, uint32_t p) {
  return static_cast<int32_t>(p * axis.stride) - static_cast<int32_t>(axis.padding);
}

// What lies beneath a window along one axis.
struct Beneath {
  uint32_t first;      // element of the tensor
  uint32_t count;      // elements; fewer than the window's extent at an edge
  uint32_t in_window;  // where in the window the first one lies
};

// At position p of an axis with `size` elements.
inline Beneath BeneathWindow(const Axis& axis, uint32_t p, uint32_t size) {
  const int32_t begin = Begin(axis, p);
  const uint32_t first = NotBelowZero(begin);
  const uint32_t end = NotAbove(begin + static_cast<int32_t>(axis.extent), size);
  return {first, end - first, static_cast<uint32_t>(static_cast<int32_t>(first) - begin)};
}

// visit(Clipped) at each position, row by row.
template <class Visit>
void ForEachWindow(const LayerInfo& info, Visit visit) {
  const Window& w = info.window;
  for (uint32_t y = 0; y < info.output.height; ++y) {
    Clipped at{};
    at.top = Begin(w.rows, y);
    at.first_row = NotBelowZero(at.top);
    at.end_row = NotAbove(at.top + static_cast<int32_t>(w.rows.extent), info.input.height);
    for (uint32_t x = 0; x < info.output.width; ++x) {
      at.left = Begin(w.columns, x);
      at.first_column = NotBelowZero(at.left);
      at.end_column = NotAbove(at.left + static_cast<int32_t>(w.columns.extent), info.input.width);
      visit(at);
    }
  }
}

// A row of a window as far as it lies within the tensor: pixels that are side by side in both.
struct Run {
  size_t first_in_window;  // index of the first among the window's pixels, row by row
  size_t first_in_input;   // the same among the input's
  size_t pixels;
};

// visit(Run) for each row of the window.
template <class Visit>
void ForEachRun(const LayerInfo& info, const Clipped& at, Visit visit) {
  const auto skipped = static_cast<size_t>(static_cast<int32_t>(at.first_column) - at.left);
  for (uint32_t row = at.first_row; row < at.end_row; ++row) {
    const auto window_row = static_cast<size_t>(static_cast<int32_t>(row) - at.top);
    visit(Run{window_row * info.window.columns.extent + skipped,
              size_t{row} * info.input.width + at.first_column, at.end_column - at.first_column});
  }
}

// visit(pixel) for each pixel beneath the window, a pointer to its channels.
template <class Visit>
void ForEachPixel(const LayerCall& call, const Clipped& at, Visit visit) {
  const size_t channels = call.info.input.channels;
  ForEachRun(call.info, at, [&](const Run& run) {
    Real* pixel = call.input + run.first_in_input * channels;
    for (size_t left = run.pixels; left > 0; --left, pixel += channels) visit(pixel);
  });
}

// Whether element i along an axis lies beneath the window at one of its positions.
inline bool IsCovered(uint32_t i, const Axis& axis, uint32_t positions) {
  const uint32_t padded = i + axis.padding;
  for (uint32_t p = 0; p < positions; ++p) {
    if (padded >= p * axis.stride && padded < p * axis.stride + axis.extent) return true;
  }
  return false;
}

// visit(row, column) of each pixel of the input that no window covers.
template <class Visit>
void ForEachUncovered(const LayerInfo& info, Visit visit) {
  const Window& w = info.window;
  for (uint32_t row = 0; row < info.input.height; ++row) {
    const bool row_is_covered = IsCovered(row, w.rows, info.output.height);
    for (uint32_t column = 0; column < info.input.width; ++column) {
      if (!row_is_covered || !IsCovered(column, w.columns, info.output.width)) visit(row, column);
    }
  }
}

}  // namespace sotto::nn
