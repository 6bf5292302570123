#include "sotto/layers/conv2d.h"

#include "nn/kernels.h"
#include "nn/windows.h"

namespace sotto::nn::internal {
namespace {

static_assert(kPositionsAtOnce == kColumns, "one column for each position");

size_t PatchSize(const LayerInfo& info) { return size_t{info.window.size()} * info.input.channels; }

// A window's values that lie within the tensor, in a patch and in the input: rows of n numbers.
struct Overlap {
  Overlap(const LayerInfo& info, const Clipped& at)
      : rows(at.end_row - at.first_row),
        n((at.end_column - at.first_column) * info.input.channels),
        patch_stride(info.window.columns.extent * info.input.channels),
        input_stride(info.input.width * info.input.channels),
        in_patch(PositionInPatch(info, at)),
        in_input(at.first_row * input_stride + at.first_column * info.input.channels) {}

  static size_t PositionInPatch(const LayerInfo& info, const Clipped& at) {
    const auto row = static_cast<size_t>(static_cast<int32_t>(at.first_row) - at.top);
    const auto column = static_cast<size_t>(static_cast<int32_t>(at.first_column) - at.left);
    return (row * info.window.columns.extent + column) * info.input.channels;
  }

  size_t rows;
  size_t n;
  size_t patch_stride;
  size_t input_stride;
  size_t in_patch;
  size_t in_input;
};

void Gather(const LayerCall& call, const Clipped& at) {
  const Overlap o(call.info, at);
  if (o.rows * o.n != PatchSize(call.info)) FillZero(PatchSize(call.info), call.scratch);
  CopyRows(call.input + o.in_input, o.input_stride, o.rows, o.n, call.scratch + o.in_patch,
           o.patch_stride);
}

// The same into a column of kColumns patches side by side.
void GatherColumn(const LayerCall& call, const Clipped& at, Real* column) {
  const Overlap o(call.info, at);
  if (o.rows * o.n != PatchSize(call.info)) {
    for (size_t i = 0; i < PatchSize(call.info); ++i) column[i * kColumns] = Real{0};
  }
  const Real* row = call.input + o.in_input;
  Real* y = column + o.in_patch * kColumns;
  for (size_t r = 0; r < o.rows; ++r, row += o.input_stride, y += o.patch_stride * kColumns) {
    for (size_t i = 0; i < o.n; ++i) y[i * kColumns] = row[i];
  }
}

void Scatter(const LayerCall& call, const Clipped& at) {
  const Overlap o(call.info, at);
  AddRows(call.scratch + o.in_patch, o.patch_stride, o.rows, o.n, call.input + o.in_input,
          o.input_stride);
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
  ForEachWindow(call.info, [&](const Clipped& at) {
    GatherColumn(call, at, call.scratch + columns);
    if (++columns == kColumns) multiply();
  });
  if (columns != 0) multiply();
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
  ForEachWindow(call.info, [&](const Clipped& at) {
    if (!IsZero(delta, outputs)) {
      TransposedProduct(call.parameters, delta, n, outputs, call.scratch);
      Scatter(call, at);
    }
    delta += outputs;
  });
}

}  // namespace sotto::nn::internal
