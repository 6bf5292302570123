// The description of a net's layer: shapes, geometry, functions. Part of sotto/nn.
//
// A kind of layer is one header in sotto/layers (its type: geometry and shape rule) and one source
// file in src/layers (forward, gradient, input delta, memory). A net is an array of LayerPlan, made
// by Sequential (nn.h) when a firmware compiles, or from a model file on a host. One walker
// (src/nn/walker.h) trains any plan. A firmware links only the kinds that its nets use, because the
// plan points to their functions and nothing else does.
//
// Activations are float32 in the order [height][width][channels], the last axis fastest. A vector
// has height and width 1, a sequence has height 1. Each tensor's memory holds its activation on
// the way forward and its delta, the derivative of the loss by it, on the way back.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/span.h"

namespace sotto::nn {

// The type of all numbers of a net. Tests of gradients compile the layers with double.
#if defined(SOTTO_NN_REAL)
using Real = SOTTO_NN_REAL;
#else
using Real = float;
#endif

// Values enter the model digest: never renumber.
enum class LayerKind : uint32_t {
  kDense = 1,
  kConv2d = 2,
  kMaxPool2d = 3,
  kRelu = 4,
  kFlatten = 5,
  kTanh = 6,
  kSigmoid = 7,
  kAveragePool2d = 8,
  kDepthwiseConv2d = 9,
  kEmbedding = 10,
  kLstm = 11,
  kGroupNorm = 12,
  kLocalResponseNorm = 13,
  kFork = 14,
  kSwap = 15,
  kAdd = 16,
};

struct Shape {
  uint32_t height = 1;
  uint32_t width = 1;
  uint32_t channels = 1;

  constexpr uint32_t size() const { return height * width * channels; }
  constexpr bool operator==(const Shape& other) const {
    return height == other.height && width == other.width && channels == other.channels;
  }
};

constexpr Shape ShapeOf(uint32_t features) { return {1, 1, features}; }
constexpr Shape ShapeOf(uint32_t length, uint32_t channels) { return {1, length, channels}; }
constexpr Shape ShapeOf(uint32_t height, uint32_t width, uint32_t channels) {
  return {height, width, channels};
}

// A window along one axis of a tensor.
struct Axis {
  uint32_t extent = 0;
  uint32_t stride = 0;
  uint32_t padding = 0;  // at each of the two ends

  // Positions of the window along `size` elements; 0: it does not fit.
  constexpr uint32_t Positions(uint32_t size) const {
    const uint32_t padded = size + 2 * padding;
    return padded < extent || stride == 0 ? 0 : (padded - extent) / stride + 1;
  }
};

// A window that moves over height and width: of a convolution or of pooling. Padding is zeros for a
// convolution, nothing for pooling. Over a sequence it has one row.
struct Window {
  Axis rows;
  Axis columns;

  constexpr bool FitsInto(const Shape& input) const {
    return rows.Positions(input.height) > 0 && columns.Positions(input.width) > 0;
  }
  constexpr Shape Over(const Shape& input, uint32_t channels) const {
    return {rows.Positions(input.height), columns.Positions(input.width), channels};
  }
  constexpr uint32_t size() const { return rows.extent * columns.extent; }
  // Whether neighbouring positions share elements.
  constexpr bool Overlaps() const {
    return rows.stride < rows.extent || columns.stride < columns.extent;
  }
};

constexpr Window SquareWindow(const Axis& side) { return {side, side}; }
constexpr Window SequenceWindow(const Axis& columns) { return {{1, 1, 0}, columns}; }

// Everything except the parameters that decides a layer's computation. The model digest covers it.
struct LayerInfo {
  LayerKind kind = LayerKind::kFlatten;
  Shape input;
  Shape output;
  Window window;
  uint32_t size = 0;  // what the shapes do not tell; the kind's header says what

  // Of the kinds in sotto/layers/branches.h, whose `size` is the branch's number: whether a branch
  // waits behind the layer, and whether one that waited is read.
  constexpr bool LeavesBranch() const {
    return kind == LayerKind::kFork || kind == LayerKind::kSwap;
  }
  constexpr bool TakesBranch() const { return kind == LayerKind::kSwap || kind == LayerKind::kAdd; }
};

// One call of a layer's functions on one sample. The caller owns the memory. Nothing overlaps,
// except that output is input if the kind works in place.
//   parameters  [LayerPlan::parameters]
//   input       activation; InputDelta() replaces it by its delta
//   output      forward: written. backward: the delta
//   kept        [LayerPlan::kept] what Forward() leaves for the way back
//   scratch     [LayerPlan::scratch] for a single call
//   saturated   in fixed point: set when a number was out of the range of its format, never reset
//   branch      of a layer that takes a branch, the branch's tensor; its delta on the way back
struct LayerCall {
  const LayerInfo& info;
  const Real* parameters;
  Real* input;
  Real* output;
  Real* kept;
  Real* scratch;
  bool* saturated = nullptr;
  Real* branch = nullptr;
};

// The functions of a kind. A null pointer: there is nothing to do.
struct LayerFunctions {
  void (*forward)(const LayerCall& call) = nullptr;
  // gradient [parameters] += the sample's. The sums over positions within a sample continue the
  // running sum: a weight's gradient is one sum, over samples and then positions.
  void (*add_gradient)(const LayerCall& call, Real* gradient) = nullptr;
  // input <- its delta. Called after add_gradient, which may turn what is kept into what this
  // function needs.
  void (*input_delta)(const LayerCall& call) = nullptr;
};

// A tensor of parameters: up to four axes, row-major, the last one fastest. Unused axes are 1 and
// come last.
struct TensorInfo {
  static constexpr uint32_t kAxes = 4;
  uint32_t axes[kAxes] = {1, 1, 1, 1};

  constexpr uint32_t size() const { return axes[0] * axes[1] * axes[2] * axes[3]; }
};

// Parameters of a layer that start neither at random nor at zero.
struct ConstantStart {
  uint32_t first = 0;  // among the layer's parameters
  uint32_t count = 0;
  float value = 0.0f;
};

// A layer in its net.
struct LayerPlan {
  LayerInfo info;
  LayerFunctions functions;
  // Parameters: first the weights, row-major [weights / fan_in][fan_in] if the kind's header gives
  // no other order; then the biases.
  uint32_t weights = 0;
  uint32_t biases = 0;
  uint32_t fan_in = 0;  // terms of the sum in which one row of weights is used
  // The weights' axes, if they are not [weights / fan_in][fan_in].
  TensorInfo axes = {{0, 0, 0, 0}};
  // Above 0: the weights are two matrices, the first of `split` columns, then one of the others;
  // and the biases are two vectors of equal length.
  uint32_t split = 0;
  ConstantStart start;
  // Above 0: the input is ids of tokens, whole numbers below it. The net checks them as it reads a
  // sample, so only its first layer takes tokens.
  uint32_t tokens = 0;
  uint32_t kept = 0;  // Reals, see LayerCall
  uint32_t scratch = 0;
  bool is_in_place = false;  // it makes no tensor
  // The gradient of the weights is the outer product of output delta and input: a net may keep
  // these two of a whole batch instead of the gradient.
  bool is_outer_product = false;
  // The layer is trained and stays on its device: see Personal in nn.h. All layers with parameters
  // behind a personal one are personal, too.
  bool is_personal = false;
  // [parameters()] constants, in flash on a board, in place of parameters that are trained. Null:
  // the layer is trained. See Frozen in nn.h.
  const Real* frozen = nullptr;
  // Of a net's first layer, if it is more than the input takes: floats of the memory in which a
  // sample is prepared, see PreparationFloats(). The net's input lies at its front.
  uint32_t prepared_in = 0;
  // Among the net's tensors, in Reals: where the output lies, and the tensor of the branch that the
  // layer takes. Its net says where: see PlaceTensors() in net_memory.h.
  size_t output_at = 0;
  size_t branch_at = 0;

  constexpr uint32_t parameters() const { return weights + biases; }
  constexpr uint32_t trained() const { return frozen == nullptr ? parameters() : 0; }
  constexpr uint32_t shared() const { return is_personal ? 0 : trained(); }  // trained and sent
};

// The tensors of a layer's parameters.
struct LayerTensors {
  TensorInfo tensors[4];
  uint32_t count = 0;

  constexpr void Add(const TensorInfo& tensor) {
    if (tensor.size() > 0) tensors[count++] = tensor;
  }
};

constexpr LayerTensors TensorsOf(const LayerPlan& layer) {
  LayerTensors all;
  const uint32_t rows = layer.weights == 0 ? 0 : layer.weights / layer.fan_in;
  if (layer.axes.size() > 0) {
    all.Add(layer.axes);
  } else {
    all.Add({{rows, layer.split, 1, 1}});
    all.Add({{rows, layer.fan_in - layer.split, 1, 1}});
  }
  const uint32_t vectors = layer.split > 0 ? 2 : 1;
  for (uint32_t i = 0; i < vectors; ++i) all.Add({{layer.biases / vectors, 1, 1, 1}});
  return all;
}

}  // namespace sotto::nn
