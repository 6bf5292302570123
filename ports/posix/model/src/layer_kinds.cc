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

template <bool is_sequence>
LayerPlan Convolution(const LayerValues& v, const Shape& input) {
  if (is_sequence) RequireSequence(input);
  const uint32_t outputs = v.Get("outputs");
  const Window window = WindowOf(v, "kernel", 1, is_sequence);
  RequireFit(window, input, outputs);
  RequireParameters({outputs, window.rows.extent, window.columns.extent, input.channels});
  return nn::internal::Conv2dPlan(outputs, window, input);
}

template <LayerPlan (*plan)(const Window&, const Shape&), bool is_sequence>
LayerPlan Pool(const LayerValues& v, const Shape& input) {
  if (is_sequence) RequireSequence(input);
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

LayerPlan Fork(const LayerValues& v, const Shape& input) {
  const uint32_t branch = v.Get("branch");
  if (v.branches->count(branch) > 0) {
    throw std::invalid_argument(fmt::format(
        "branch {} waits already; end it by an add first, or take another number", branch));
  }
  return nn::internal::ForkPlan(branch, input);
}

// The shape of the branch that a layer takes.
Shape BranchOf(const LayerValues& v) {
  const auto found = v.branches->find(v.Get("branch"));
  if (found != v.branches->end()) return found->second;
  throw std::invalid_argument(
      fmt::format("no branch {} waits: no fork before it begins one, or an add has ended it; begin "
                  "it by kind = \"fork\", or correct the number",
                  v.Get("branch")));
}

LayerPlan Swap(const LayerValues& v, const Shape& input) {
  return nn::internal::SwapPlan(v.Get("branch"), input, BranchOf(v));
}

LayerPlan Add(const LayerValues& v, const Shape& input) {
  const Shape branch = BranchOf(v);
  if (!(branch == input)) {
    throw std::invalid_argument(
        fmt::format("branch {} has the shape {}, and {} reaches it; an add takes two tensors of "
                    "one shape",
                    v.Get("branch"), ShapeText(branch), ShapeText(input)));
  }
  return nn::internal::AddPlan(v.Get("branch"), input);
}

// A layer without keys.
template <LayerPlan (*plan)(const Shape&)>
LayerPlan Plain(const LayerValues&, const Shape& input) {
  return plan(input);
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
  const nn::Axis& rows = layer.info.window.rows;
  return layer.info.kind == kind && layer.info.input.height == 1 && rows.extent == 1 &&
         rows.stride == 1 && rows.padding == 0;
}

bool IsGlobalAverage(const LayerPlan& layer) {
  const Window& window = layer.info.window;
  const Shape& input = layer.info.input;
  return Is<LayerKind::kAveragePool2d>(layer) && window.rows.extent == input.height &&
         window.columns.extent == input.width && window.rows.stride == 1 &&
         window.columns.stride == 1 && window.rows.padding == 0 && window.columns.padding == 0;
}

uint32_t ChannelsOf(const LayerPlan& layer) { return layer.info.output.channels; }
uint32_t WindowSizeOf(const LayerPlan& layer) { return layer.info.window.columns.extent; }
uint32_t StrideOf(const LayerPlan& layer) { return layer.info.window.columns.stride; }
uint32_t PaddingOf(const LayerPlan& layer) { return layer.info.window.columns.padding; }
uint32_t InfoSizeOf(const LayerPlan& layer) { return layer.info.size; }
uint32_t MultiplierOf(const LayerPlan& layer) {
  return layer.info.output.channels / layer.info.input.channels;
}
uint32_t LstmOutputOf(const LayerPlan& layer) {
  return static_cast<uint32_t>(layer.info.output.width == 1 ? nn::LstmOutput::kLast
                                                            : nn::LstmOutput::kSequence);
}

// "1, 2", without arguments at the end that equal their defaults.
std::string Arguments(std::vector<uint32_t> arguments, const std::vector<uint32_t>& defaults) {
  size_t required = arguments.size() - defaults.size();
  while (arguments.size() > required &&
         arguments.back() == defaults[arguments.size() - 1 - required]) {
    arguments.pop_back();
  }
  return fmt::format("{}", fmt::join(arguments, ", "));
}

std::string OfConvolution(const LayerPlan& layer) {
  const nn::Axis& side = layer.info.window.columns;
  return Arguments({layer.info.output.channels, side.extent, side.stride, side.padding}, {1, 0});
}

std::string OfPool(const LayerPlan& layer) {
  const nn::Axis& side = layer.info.window.columns;
  return Arguments({side.extent, side.stride, side.padding}, {side.extent, 0});
}

std::string OfDepthwise(const LayerPlan& layer) {
  const nn::Axis& side = layer.info.window.columns;
  return Arguments({side.extent, side.stride, side.padding, MultiplierOf(layer)}, {1, 0, 1});
}

// Of a single step, the sequence and the last step are the same.
std::string OfLstm(const LayerPlan& layer) {
  const bool is_last = LstmOutputOf(layer) == static_cast<uint32_t>(nn::LstmOutput::kLast);
  return fmt::format("{}, sotto::nn::LstmOutput::{}", layer.info.output.channels,
                     is_last ? "kLast" : "kSequence");
}

std::string SizeOf(const LayerPlan& layer) { return std::to_string(InfoSizeOf(layer)); }

// Each output is a sum of fan_in products.
uint64_t OfRows(const LayerPlan& layer) {
  return uint64_t{layer.info.output.size()} * layer.fan_in;
}
uint64_t OfSteps(const LayerPlan& layer) {
  return uint64_t{layer.info.input.width} * layer.weights;
}

// In fixed point, of a layer that computes nothing.
LayerPlan AsItIs(LayerPlan layer) { return layer; }

const std::vector<LayerKey> kNoKeys;
const LayerKey kOutputs = {"outputs", ChannelsOf};
const LayerKey kKernel = {"kernel", WindowSizeOf};
const LayerKey kPoolSize = {"size", WindowSizeOf};
const LayerKey kStride = {"stride", StrideOf, "1"};
const LayerKey kPoolStride = {"stride", StrideOf, "the size"};
const LayerKey kPadding = {"padding", PaddingOf, "0", 0};

std::vector<LayerKindRow> Convolutions() {
  const std::vector<LayerKey> keys = {kOutputs, kKernel, kStride, kPadding};
  const std::vector<LayerKey> depthwise_keys = {
      kKernel, kStride, kPadding, {"multiplier", MultiplierOf, "1"}};
  return {
      {"conv1d", "convolution over a sequence", "Conv1d", keys, Convolution<true>,
       IsOverSequence<LayerKind::kConv2d>, OfConvolution, OfRows, nn::internal::FixedConv2d},
      {"conv2d", "convolution over height and width", "Conv2d", keys, Convolution<false>,
       Is<LayerKind::kConv2d>, OfConvolution, OfRows, nn::internal::FixedConv2d},
      {"depthwise-conv2d", "convolution of each channel alone", "DepthwiseConv2d", depthwise_keys,
       Depthwise, Is<LayerKind::kDepthwiseConv2d>, OfDepthwise, OfRows},
  };
}

std::vector<LayerKindRow> Pools() {
  constexpr auto kMax = nn::internal::MaxPool2dPlan;
  constexpr auto kAverage = nn::internal::AveragePool2dPlan;
  constexpr auto kFixedMax = nn::internal::FixedMaxPool2d;
  constexpr auto kFixedAverage = nn::internal::FixedAveragePool2d;
  const std::vector<LayerKey> keys = {kPoolSize, kPoolStride, kPadding};
  return {
      {"max-pool1d", "largest value beneath a window of a sequence", "MaxPool1d", keys,
       Pool<kMax, true>, IsOverSequence<LayerKind::kMaxPool2d>, OfPool, nullptr, kFixedMax},
      {"max-pool2d", "largest value beneath a window", "MaxPool2d", keys, Pool<kMax, false>,
       Is<LayerKind::kMaxPool2d>, OfPool, nullptr, kFixedMax},
      {"global-average", "mean of each channel", "GlobalAverage2d", kNoKeys,
       Plain<nn::internal::GlobalAverage2dPlan>, IsGlobalAverage, nullptr, nullptr, kFixedAverage},
      {"average-pool1d", "mean beneath a window of a sequence", "AveragePool1d", keys,
       Pool<kAverage, true>, IsOverSequence<LayerKind::kAveragePool2d>, OfPool, nullptr,
       kFixedAverage},
      {"average-pool2d", "mean beneath a window", "AveragePool2d", keys, Pool<kAverage, false>,
       Is<LayerKind::kAveragePool2d>, OfPool, nullptr, kFixedAverage},
  };
}

std::vector<LayerKindRow> InPlace() {
  return {
      {"relu", "max(0, x)", "Relu", kNoKeys, Plain<nn::internal::ReluPlan>, Is<LayerKind::kRelu>,
       nullptr, nullptr, nn::internal::FixedRelu},
      {"tanh", "tanh(x)", "Tanh", kNoKeys, Plain<nn::internal::TanhPlan>, Is<LayerKind::kTanh>},
      {"sigmoid", "1 / (1 + e^-x)", "Sigmoid", kNoKeys, Plain<nn::internal::SigmoidPlan>,
       Is<LayerKind::kSigmoid>},
      {"flatten", "the same numbers as a vector", "Flatten", kNoKeys,
       Plain<nn::internal::FlattenPlan>, Is<LayerKind::kFlatten>, nullptr, nullptr, AsItIs},
  };
}

std::vector<LayerKindRow> Others() {
  return {
      {"dense",
       "fully connected, with biases",
       "Dense",
       {kOutputs, {"inputs", nullptr, "as many as reach it"}},
       Dense,
       Is<LayerKind::kDense>,
       [](auto& layer) {
         return Arguments({layer.info.input.size(), layer.info.output.size()}, {});
       },
       OfRows,
       nn::internal::FixedDense},
      {"embedding",
       "a vector for each token; first layer only",
       "Embedding",
       {{"width", ChannelsOf}},
       Embedding,
       Is<LayerKind::kEmbedding>,
       [](auto& layer) {
         return Arguments({layer.tokens, layer.info.output.channels}, {});
       }},
      {"lstm",
       "recurrent layer over a sequence",
       "Lstm",
       {{"units", ChannelsOf}, {"output", LstmOutputOf, nullptr, 0, {"sequence", "last"}}},
       Lstm,
       Is<LayerKind::kLstm>,
       OfLstm,
       OfSteps},
      {"group-norm",
       "normalises channels in groups",
       "GroupNorm",
       {{"groups", InfoSizeOf}},
       GroupNorm,
       Is<LayerKind::kGroupNorm>,
       SizeOf},
      {"local-response-norm",
       "divides by the energy of nearby channels",
       "LocalResponseNorm",
       {{"size", InfoSizeOf}},
       LocalResponseNorm,
       Is<LayerKind::kLocalResponseNorm>,
       SizeOf},
  };
}

std::vector<LayerKindRow> OfBranches() {
  const std::vector<LayerKey> keys = {{"branch", InfoSizeOf}};
  return {
      {"fork", "begins a branch: the tensor waits, a copy goes on", "Fork", keys, Fork,
       Is<LayerKind::kFork>, SizeOf, nullptr, nn::internal::FixedFork},
      {"swap", "goes on with what waits in a branch, and the tensor waits", "Swap", keys, Swap,
       Is<LayerKind::kSwap>, SizeOf, nullptr, AsItIs},
      {"add", "x + what waits in a branch, which ends", "Add", keys, Add, Is<LayerKind::kAdd>,
       SizeOf, nullptr, nn::internal::FixedAdd},
  };
}

std::vector<LayerKindRow> AllKinds() {
  std::vector<LayerKindRow> all;
  for (const auto& part : {Others(), Convolutions(), Pools(), InPlace(), OfBranches()}) {
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

}  // namespace

const std::vector<LayerKindRow>& LayerKinds() {
  static const std::vector<LayerKindRow> kKinds = AllKinds();
  return kKinds;
}

const LayerKindRow& KindOf(const nn::LayerPlan& layer) {
  for (const LayerKindRow& row : LayerKinds()) {
    if (row.is(layer)) return row;
  }
  throw std::logic_error("the table of kinds lacks a layer");
}

std::string CppType(const nn::LayerPlan& layer) {
  const LayerKindRow& row = KindOf(layer);
  return row.arguments == nullptr ? row.type
                                  : fmt::format("{}<{}>", row.type, row.arguments(layer));
}

uint64_t MultiplyAccumulates(const nn::LayerPlan& layer) {
  const LayerKindRow& row = KindOf(layer);
  return row.multiply_accumulates == nullptr ? 0 : row.multiply_accumulates(layer);
}

std::string ShapeText(const nn::Shape& shape) {
  if (shape.height > 1)
    return fmt::format("{} x {} x {}", shape.height, shape.width, shape.channels);
  if (shape.width > 1) return fmt::format("{} x {}", shape.width, shape.channels);
  return fmt::format("{}", shape.channels);
}

}  // namespace sotto::posix
