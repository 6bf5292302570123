#include "sotto/layers/conv2d.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

static_assert(kPositionsAtOnce == kColumns, "one column for each position");

size_t PatchSize(const LayerInfo& info) { return size_t{info.window.size()} * info.input.channels; }

// A window's values that lie within the tensor: rows of n numbers, in a patch and in the input. At
// least one, since padding is less than the window.
struct Overlap {
  size_t rows;
  size_t n;
  size_t in_patch;
  size_t in_input;
  size_t patch_stride;
  size_t input_stride;

  size_t size() const { return rows * n; }
};

// visit(Overlap) at each position, row by row.
template <class Visit>
void ForEachOverlap(const LayerInfo& info, Visit visit) {
  const Axis columns = info.window.columns;
  const size_t channels = info.input.channels;
  Overlap o{};
  o.patch_stride = columns.extent * channels;
  o.input_stride = info.input.width * channels;
  for (uint32_t y = 0; y < info.output.height; ++y) {
    const Beneath rows = BeneathWindow(info.window.rows, y, info.input.height);
    o.rows = rows.count;
    for (uint32_t x = 0; x < info.output.width; ++x) {
      const Beneath at = BeneathWindow(columns, x, info.input.width);
      o.n = at.count * channels;
      o.in_patch = rows.in_window * o.patch_stride + at.in_window * channels;
      o.in_input = rows.first * o.input_stride + at.first * channels;
      visit(o);
    }
  }
}

// The input beneath the window, numbers `stride` apart: a patch, or one of kColumns side by side.
template <size_t stride>
void Gather(const LayerCall& call, const Overlap& o, size_t patch_size, Real* patch) {
  if (o.size() != patch_size) {
    for (size_t i = 0; i < patch_size; ++i) patch[i * stride] = Real{0};
  }
  const Real* x = call.input + o.in_input;
  Real* y = patch + o.in_patch * stride;
  for (size_t rows = o.rows; rows > 0; --rows) {
    const Real* const end = x + o.n;
    do {
      *y = *x++;
      y += stride;
    } while (x != end);
    x += o.input_stride - o.n;
    y += (o.patch_stride - o.n) * stride;
  }
}

// Adds a patch to the input beneath the window.
void Scatter(const LayerCall& call, const Overlap& o) {
  const Real* x = call.scratch + o.in_patch;
  Real* y = call.input + o.in_input;
  for (size_t rows = o.rows; rows > 0; --rows) {
    const Real* const end = x + o.n;
    do {
      *y++ += *x++;
    } while (x != end);
    x += o.patch_stride - o.n;
    y += o.input_stride - o.n;
  }
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
  Real* y = call.output;
  size_t columns = 0;
  const auto multiply = [&] {
    DenseForwardOfColumns(call.parameters, call.parameters + n * outputs, call.scratch, n, outputs,
                          columns, y);
    y += columns * outputs;
    columns = 0;
  };
  // The last columns may remain empty.
  FillZero(n * kColumns, call.scratch);
  ForEachOverlap(call.info, [&](const Overlap& o) {
    Gather<kColumns>(call, o, n, call.scratch + columns);
    if (++columns == kColumns) multiply();
  });
  if (columns != 0) multiply();
}

// A position whose delta is zero, as most are behind max pooling, adds nothing.
void Conv2dAddGradient(const LayerCall& call, Real* gradient) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const Real* delta = call.output;
  ForEachOverlap(call.info, [&](const Overlap& o) {
    if (!IsZero(delta, outputs)) {
      Gather<1>(call, o, n, call.scratch);
      AddOuterProduct(delta, outputs, call.scratch, n, gradient);
    }
    delta += outputs;
  });
  const nn::Shape& out = call.info.output;
  AddRowSums(call.output, size_t{out.height} * out.width, outputs, gradient + n * outputs);
}

void Conv2dInputDelta(const LayerCall& call) {
  const size_t n = PatchSize(call.info);
  const size_t outputs = call.info.output.channels;
  const Real* delta = call.output;
  FillZero(call.info.input.size(), call.input);
  ForEachOverlap(call.info, [&](const Overlap& o) {
    if (!IsZero(delta, outputs)) {
      TransposedProduct(call.parameters, delta, n, outputs, call.scratch);
      Scatter(call, o);
    }
    delta += outputs;
  });
}

}  // namespace sotto::nn::internal
