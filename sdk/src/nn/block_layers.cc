#include "nn/block_layers.h"

#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "sotto/layers/conv2d.h"
#include "sotto/layers/dense.h"
#include "sotto/layers/relu.h"

namespace sotto::nn {
namespace {

// A row of the table. A null pointer: sample by sample.
struct BlockFunctions {
  void (*one)(const LayerCall& call);  // LayerFunctions::forward of the kind
  size_t (*scratch)(const LayerInfo& info, size_t samples);
  void (*predict)(const LayerCall& call, const SampleBlock& block);  // keeps nothing
  void (*forward)(const LayerCall& call, const SampleBlock& block);
  void (*add_gradient)(const LayerCall& call, const SampleBlock& block, Real* gradient);
  void (*input_delta)(const LayerCall& call, const SampleBlock& block);
};

BlockRows Inputs(const LayerCall& call, const SampleBlock& block) {
  return {call.input, block.stride};
}
BlockRows Outputs(const LayerCall& call, const SampleBlock& block) {
  return {call.output, block.stride};
}

DenseWeights WeightsOf(const LayerCall& call) {
  const size_t n = call.info.input.size();
  const size_t outputs = call.info.output.size();
  return {call.parameters, call.parameters + n * outputs, n, outputs};
}

size_t DenseScratch(const LayerInfo& info, size_t samples) {
  return DenseBlockScratch(info.input.size(), samples);
}

void DenseForwardOfBlock(const LayerCall& call, const SampleBlock& block) {
  block.kernels.dense_forward(WeightsOf(call), Inputs(call, block), block.samples, block.scratch,
                              Outputs(call, block));
}

void DenseAddGradientOfBlock(const LayerCall& call, const SampleBlock& block, Real* gradient) {
  const size_t n = call.info.input.size();
  const size_t outputs = call.info.output.size();
  const BlockRows deltas = Outputs(call, block);
  block.kernels.dense_add_gradient(deltas, outputs, Inputs(call, block), n, block.samples,
                                   gradient);
  for (size_t s = 0; s < block.samples; ++s) {
    AddScaled(Real{1}, deltas[s], outputs, gradient + n * outputs);
  }
}

void DenseInputDeltaOfBlock(const LayerCall& call, const SampleBlock& block) {
  block.kernels.dense_input_delta(WeightsOf(call), Outputs(call, block), block.samples,
                                  Inputs(call, block));
}

size_t ConvScratch(const LayerInfo& info, size_t) { return ConvBlockScratch(info); }

void ConvForwardOfBlock(const LayerCall& call, const SampleBlock& block) {
  block.kernels.conv_forward(call.info, call.parameters, Inputs(call, block), block.samples,
                             block.scratch, Outputs(call, block));
}

void ConvAddGradientOfBlock(const LayerCall& call, const SampleBlock& block, Real* gradient) {
  ConvAddGradient(block.kernels, call.info, Inputs(call, block), Outputs(call, block),
                  block.samples, block.scratch, gradient);
}

void ReluOfBlock(const LayerCall& call, const SampleBlock& block) {
  block.kernels.relu(Inputs(call, block), block.samples, call.info.input.size());
}

constexpr BlockFunctions kFunctions[] = {
    {internal::DenseForward, DenseScratch, DenseForwardOfBlock, DenseForwardOfBlock,
     DenseAddGradientOfBlock, DenseInputDeltaOfBlock},
    {internal::Conv2dForward, ConvScratch, ConvForwardOfBlock, ConvForwardOfBlock,
     ConvAddGradientOfBlock, nullptr},
    {internal::ReluForward, nullptr, ReluOfBlock, nullptr, nullptr, nullptr},
};

constexpr BlockFunctions kNone = {};

const BlockFunctions& FunctionsFor(const LayerPlan& layer) {
  for (const BlockFunctions& row : kFunctions) {
    if (row.one == layer.functions.forward) return row;
  }
  return kNone;
}

Real* Shifted(Real* p, size_t offset) { return p == nullptr ? nullptr : p + offset; }

// visit(LayerCall) for each sample.
template <class Visit>
void ForEachSample(const LayerCall& call, const SampleBlock& block, Visit visit) {
  for (size_t s = 0; s < block.samples; ++s) {
    LayerCall one = call;
    one.input = Shifted(call.input, s * block.stride);
    one.output = Shifted(call.output, s * block.stride);
    one.kept = Shifted(call.kept, s * block.stride);
    one.branch = Shifted(call.branch, s * block.stride);
    visit(one);
  }
}

}  // namespace

size_t BlockScratch(const LayerPlan& layer, size_t samples) {
  const BlockFunctions& functions = FunctionsFor(layer);
  return functions.scratch == nullptr ? 0 : functions.scratch(layer.info, samples);
}

void ForwardBlock(const LayerPlan& layer, const LayerCall& call, const SampleBlock& block,
                  bool keeps) {
  const BlockFunctions& functions = FunctionsFor(layer);
  const auto all = keeps ? functions.forward : functions.predict;
  if (all != nullptr) return all(call, block);
  ForEachSample(call, block, layer.functions.forward);
}

void AddGradientOfBlock(const LayerPlan& layer, const LayerCall& call, const SampleBlock& block,
                        Real* gradient) {
  const BlockFunctions& functions = FunctionsFor(layer);
  if (functions.add_gradient != nullptr) return functions.add_gradient(call, block, gradient);
  ForEachSample(call, block,
                [&](const LayerCall& one) { layer.functions.add_gradient(one, gradient); });
}

void InputDeltaOfBlock(const LayerPlan& layer, const LayerCall& call, const SampleBlock& block) {
  const BlockFunctions& functions = FunctionsFor(layer);
  if (functions.input_delta != nullptr) return functions.input_delta(call, block);
  if (layer.functions.input_delta != nullptr) {
    ForEachSample(call, block, layer.functions.input_delta);
  }
}

}  // namespace sotto::nn
