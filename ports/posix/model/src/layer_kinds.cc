#include "sotto/model/layer_kinds.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <stdexcept>

#include "sotto/nn.h"
#include "sotto/update_scale.h"

namespace sotto::posix {
namespace {

using nn::LayerKind;
using nn::LayerPlan;
using nn::Shape;
using nn::Window;

// Throws if the product of the factors, each below 2^32, is above `most`.
void RequireAtMost(uint64_t most, const char* what, std::initializer_list<uint64_t> factors) {
  uint64_t product = 1;
  for (const uint64_t factor : factors) {
    product *= factor;
    if (product <= most) continue;
    throw std::invalid_argument(fmt::format("its {} are {} numbers; the most are {}", what,
                                            fmt::join(factors, " x "), most));
  }
}

void RequireParameters(std::initializer_list<uint64_t> factors) {
  RequireAtMost(kMaxParameters, "weights", factors);
}

void RequireSequence(const Shape& input) {
  if (input.height == 1) return;
  throw std::invalid_argument(fmt::format(
      "it takes a sequence, [length, channels], not an image of {} rows", input.height));
}

// The window of a layer, square or over a sequence.
Window WindowOf(const LayerValues& v, const char* size, uint32_t stride, bool is_sequence) {
  const nn::Axis side = {v.Get(size), v.Get("stride", stride), v.Get("padding", 0)};
  if (side.padding >= side.extent) {
    throw std::invalid_argument(
        fmt::format("padding = {} is not less than {} = {}: a window would miss the input",
                    side.padding, size, side.extent));
  }
  return is_sequence ? nn::SequenceWindow(side) : nn::SquareWindow(side);
}

void RequireFit(const Window& window, const Shape& input, uint64_t channels) {
  if (!window.FitsInto(input)) {
    throw std::invalid_argument(fmt::format("its window of {} with padding {} is larger than {}",
                                            window.columns.extent, window.columns.padding,
                                            ShapeText(input)));
  }
  const Shape out = window.Over(input, 1);
  RequireAtMost(kMaxTensor, "outputs", {out.height, out.width, channels});
}

LayerPlan Convolution(const LayerValues& v, const Shape& input, bool is_sequence) {
  const uint32_t outputs = v.Get("outputs");
  const Window window = WindowOf(v, "kernel", 1, is_sequence);
  RequireFit(window, input, outputs);
  RequireParameters({outputs, window.rows.extent, window.columns.extent, input.channels});
  return nn::internal::Conv2dPlan(outputs, window, input);
}

LayerPlan Pool(LayerPlan (*plan)(const Window&, const Shape&), const LayerValues& v,
               const Shape& input, bool is_sequence) {
  const Window window = WindowOf(v, "size", v.Get("size"), is_sequence);
  RequireFit(window, input, input.channels);
  return plan(window, input);
}

LayerPlan Depthwise(const LayerValues& v, const Shape& input) {
  const uint32_t multiplier = v.Get("multiplier", 1);
  const Window window = WindowOf(v, "kernel", 1, false);
  RequireParameters({window.rows.extent, window.columns.extent, input.channels, multiplier});
  RequireFit(window, input, uint64_t{input.channels} * multiplier);
  return nn::internal::DepthwiseConv2dPlan(window, multiplier, input);
}

LayerPlan Dense(const LayerValues& v, const Shape& input) {
  const uint32_t outputs = v.Get("outputs");
  if (const uint32_t inputs = v.Get("inputs", input.size()); inputs != input.size()) {
    throw std::invalid_argument(
        fmt::format("inputs = {}, but {} numbers reach it; leave the key out, or correct it",
                    inputs, input.size()));
  }
  RequireParameters({input.size(), outputs});
  return nn::internal::DensePlan(outputs, input);
}

LayerPlan Embedding(const LayerValues& v, const Shape& input) {
  if (v.tokens == 0) {
    throw std::invalid_argument(
        "the model has no tokens; add tokens = N, the size of the vocabulary, before the layers");
  }
  if (input.height != 1 || input.channels != 1) {
    throw std::invalid_argument("it takes tokens, input = [length]");
  }
  const uint32_t width = v.Get("width");
  RequireAtMost(kMaxTensor, "outputs", {input.width, width});
  RequireParameters({v.tokens, width});
  return nn::internal::EmbeddingPlan(v.tokens, width, input);
}

LayerPlan Lstm(const LayerValues& v, const Shape& input) {
  RequireSequence(input);
  const uint32_t units = v.Get("units");
  RequireParameters({4, units, uint64_t{input.channels} + units});
  RequireAtMost(kMaxTensor, "kept gates", {input.width, 5, units});
  const auto output = static_cast<nn::LstmOutput>(v.Get("output"));
  return nn::internal::LstmPlan(units, output, input);
}

LayerPlan GroupNorm(const LayerValues& v, const Shape& input) {
  const uint32_t groups = v.Get("groups");
  if (input.channels % groups != 0) {
    throw std::invalid_argument(
        fmt::format("groups = {} does not divide {} channels", groups, input.channels));
  }
  return nn::internal::GroupNormPlan(groups, input);
}

LayerPlan LocalResponseNorm(const LayerValues& v, const Shape& input) {
  if (v.Get("size") % 2 == 0) {
    throw std::invalid_argument(
        fmt::format("size = {} is even; it counts the channel itself and as many on either side",
                    v.Get("size")));
  }
  return nn::internal::LocalResponseNormPlan(v.Get("size"), input);
}

template <LayerKind kind>
bool Is(const LayerPlan& layer) {
  return layer.info.kind == kind;
}
template <LayerKind kind>
bool IsOverSequence(const LayerPlan& layer) {
  return layer.info.kind == kind && layer.info.input.height == 1 &&
         layer.info.window.rows.extent == 1;
}

bool IsGlobalAverage(const LayerPlan& layer) {
  const Window& window = layer.info.window;
  const Shape& input = layer.info.input;
  return Is<LayerKind::kAveragePool2d>(layer) && window.rows.extent == input.height &&
         window.columns.extent == input.width && window.rows.stride == 1 &&
         window.columns.stride == 1 && window.rows.padding == 0 && window.columns.padding == 0;
}

// "Name<1, 2>", without arguments at the end that equal their defaults.
std::string Type(const char* name, std::vector<uint32_t> arguments,
                 const std::vector<uint32_t>& defaults) {
  size_t required = arguments.size() - defaults.size();
  while (arguments.size() > required &&
         arguments.back() == defaults[arguments.size() - 1 - required]) {
    arguments.pop_back();
  }
  return fmt::format("{}<{}>", name, fmt::join(arguments, ", "));
}

std::string ConvolutionCpp(const char* name, const LayerPlan& layer) {
  const nn::Axis& side = layer.info.window.columns;
  return Type(name, {layer.info.output.channels, side.extent, side.stride, side.padding}, {1, 0});
}

std::string PoolCpp(const char* name, const LayerPlan& layer) {
  const nn::Axis& side = layer.info.window.columns;
  return Type(name, {side.extent, side.stride, side.padding}, {side.extent, 0});
}

std::string DepthwiseCpp(const LayerPlan& layer) {
  const nn::Axis& side = layer.info.window.columns;
  const uint32_t multiplier = layer.info.output.channels / layer.info.input.channels;
  return Type("DepthwiseConv2d", {side.extent, side.stride, side.padding, multiplier}, {1, 0, 1});
}

// Of a single step, the sequence and the last step are the same.
std::string LstmCpp(const LayerPlan& layer) {
  const bool is_last = layer.info.output.width == 1;
  return fmt::format("Lstm<{}, sotto::nn::LstmOutput::{}>", layer.info.output.channels,
                     is_last ? "kLast" : "kSequence");
}

uint64_t None(const LayerPlan&) { return 0; }
// Each output is a sum of fan_in products.
uint64_t OfRows(const LayerPlan& layer) {
  return uint64_t{layer.info.output.size()} * layer.fan_in;
}
uint64_t OfSteps(const LayerPlan& layer) {
  return uint64_t{layer.info.input.width} * layer.weights;
}

const LayerKey kOutputs = {"outputs"};
const LayerKey kKernel = {"kernel"};
const LayerKey kSize = {"size"};
const LayerKey kStride = {"stride", "1"};
const LayerKey kPoolStride = {"stride", "the size"};
const LayerKey kPadding = {"padding", "0", 0};

std::vector<LayerKindRow> Convolutions() {
  return {
      {"conv1d",
       "convolution over a sequence",
       {kOutputs, kKernel, kStride, kPadding},
       [](auto& v, auto& input) {
         RequireSequence(input);
         return Convolution(v, input, true);
       },
       IsOverSequence<LayerKind::kConv2d>,
       [](auto& layer) { return ConvolutionCpp("Conv1d", layer); },
       OfRows,
       nn::internal::FixedConv2d},
      {"conv2d",
       "convolution over height and width",
       {kOutputs, kKernel, kStride, kPadding},
       [](auto& v, auto& input) { return Convolution(v, input, false); },
       Is<LayerKind::kConv2d>,
       [](auto& layer) { return ConvolutionCpp("Conv2d", layer); },
       OfRows,
       nn::internal::FixedConv2d},
      {"depthwise-conv2d",
       "convolution of each channel alone",
       {kKernel, kStride, kPadding, {"multiplier", "1"}},
       Depthwise,
       Is<LayerKind::kDepthwiseConv2d>,
       DepthwiseCpp,
       OfRows},
  };
}

std::vector<LayerKindRow> Pools() {
  return {
      {"max-pool1d",
       "largest value beneath a window of a sequence",
       {kSize, kPoolStride, kPadding},
       [](auto& v, auto& input) {
         RequireSequence(input);
         return Pool(nn::internal::MaxPool2dPlan, v, input, true);
       },
       IsOverSequence<LayerKind::kMaxPool2d>,
       [](auto& layer) { return PoolCpp("MaxPool1d", layer); },
       None,
       nn::internal::FixedMaxPool2d},
      {"max-pool2d",
       "largest value beneath a window",
       {kSize, kPoolStride, kPadding},
       [](auto& v, auto& input) { return Pool(nn::internal::MaxPool2dPlan, v, input, false); },
       Is<LayerKind::kMaxPool2d>,
       [](auto& layer) { return PoolCpp("MaxPool2d", layer); },
       None,
       nn::internal::FixedMaxPool2d},
      {"global-average",
       "mean of each channel",
       {},
       [](auto&, auto& input) { return nn::internal::GlobalAverage2dPlan(input); },
       IsGlobalAverage,
       [](auto&) { return std::string("GlobalAverage2d"); },
       None,
       nn::internal::FixedAveragePool2d},
      {"average-pool1d",
       "mean beneath a window of a sequence",
       {kSize, kPoolStride, kPadding},
       [](auto& v, auto& input) {
         RequireSequence(input);
         return Pool(nn::internal::AveragePool2dPlan, v, input, true);
       },
       IsOverSequence<LayerKind::kAveragePool2d>,
       [](auto& layer) { return PoolCpp("AveragePool1d", layer); },
       None,
       nn::internal::FixedAveragePool2d},
      {"average-pool2d",
       "mean beneath a window",
       {kSize, kPoolStride, kPadding},
       [](auto& v, auto& input) { return Pool(nn::internal::AveragePool2dPlan, v, input, false); },
       Is<LayerKind::kAveragePool2d>,
       [](auto& layer) { return PoolCpp("AveragePool2d", layer); },
       None,
       nn::internal::FixedAveragePool2d},
  };
}

std::vector<LayerKindRow> InPlace() {
  return {
      {"relu",
       "max(0, x)",
       {},
       [](auto&, auto& input) { return nn::internal::ReluPlan(input); },
       Is<LayerKind::kRelu>,
       [](auto&) { return std::string("Relu"); },
       None,
       nn::internal::FixedRelu},
      {"tanh",
       "tanh(x)",
       {},
       [](auto&, auto& input) { return nn::internal::TanhPlan(input); },
       Is<LayerKind::kTanh>,
       [](auto&) { return std::string("Tanh"); },
       None},
      {"sigmoid",
       "1 / (1 + e^-x)",
       {},
       [](auto&, auto& input) { return nn::internal::SigmoidPlan(input); },
       Is<LayerKind::kSigmoid>,
       [](auto&) { return std::string("Sigmoid"); },
       None},
      {"flatten",
       "the same numbers as a vector",
       {},
       [](auto&, auto& input) { return nn::internal::FlattenPlan(input); },
       Is<LayerKind::kFlatten>,
       [](auto&) { return std::string("Flatten"); },
       None,
       [](LayerPlan layer) { return layer; }},
  };
}

std::vector<LayerKindRow> Others() {
  return {
      {"dense",
       "fully connected, with biases",
       {kOutputs, {"inputs", "as many as reach it"}},
       Dense,
       Is<LayerKind::kDense>,
       [](auto& layer) {
         return Type("Dense", {layer.info.input.size(), layer.info.output.size()}, {});
       },
       OfRows,
       nn::internal::FixedDense},
      {"embedding",
       "a vector for each token; first layer only",
       {{"width"}},
       Embedding,
       Is<LayerKind::kEmbedding>,
       [](auto& layer) {
         return Type("Embedding", {layer.tokens, layer.info.output.channels}, {});
       },
       None},
      {"lstm",
       "recurrent layer over a sequence",
       {{"units"}, {"output", nullptr, 0, {"sequence", "last"}}},
       Lstm,
       Is<LayerKind::kLstm>,
       LstmCpp,
       OfSteps},
      {"group-norm",
       "normalises channels in groups",
       {{"groups"}},
       GroupNorm,
       Is<LayerKind::kGroupNorm>,
       [](auto& layer) { return Type("GroupNorm", {layer.info.size}, {}); },
       None},
      {"local-response-norm",
       "divides by the energy of nearby channels",
       {kSize},
       LocalResponseNorm,
       Is<LayerKind::kLocalResponseNorm>,
       [](auto& layer) { return Type("LocalResponseNorm", {layer.info.size}, {}); },
       None},
  };
}

std::vector<LayerKindRow> AllKinds() {
  std::vector<LayerKindRow> all;
  for (const auto& part : {Others(), Convolutions(), Pools(), InPlace()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

const std::vector<LayerKindRow>& LayerKinds() {
  static const std::vector<LayerKindRow> kKinds = AllKinds();
  return kKinds;
}

const LayerKindRow* FindKind(const std::string& name) {
  for (const LayerKindRow& row : LayerKinds()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

const LayerKindRow& KindOf(const nn::LayerPlan& layer) {
  for (const LayerKindRow& row : LayerKinds()) {
    if (row.is(layer)) return row;
  }
  throw std::logic_error("the table of kinds lacks a layer");
}

std::string ShapeText(const nn::Shape& shape) {
  if (shape.height > 1)
    return fmt::format("{} x {} x {}", shape.height, shape.width, shape.channels);
  if (shape.width > 1) return fmt::format("{} x {}", shape.width, shape.channels);
  return fmt::format("{}", shape.channels);
}

}  // namespace sotto::posix
