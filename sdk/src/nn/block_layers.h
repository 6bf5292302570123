// What a layer does with a block of samples. Part of sotto/nn; private to the SDK. For hosts: see
// sotto/blocks.h.
//
// One table has a row for each kind whose layers gain by it, found by the function of the plan that
// it replaces; so a layer in fixed point has none. A layer without a row, or without a function in
// it, works on one sample after the other.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/block_kernels.h"

namespace sotto::nn {

// Samples whose memories lie apart by a stride. A LayerCall names the memory of the first.
struct SampleBlock {
  const BlockKernels& kernels;
  size_t samples;
  size_t stride;
  Real* scratch;  // [BlockScratch()]
};

// Reals of scratch that a layer needs for a block.
size_t BlockScratch(const LayerPlan& layer, size_t samples);

// LayerFunctions::forward of all samples. Without `keeps` nothing needs to be kept for a way back.
void ForwardBlock(const LayerPlan& layer, const LayerCall& call, const SampleBlock& block,
                  bool keeps);

// LayerFunctions::add_gradient and input_delta of all samples, in their order.
void AddGradientOfBlock(const LayerPlan& layer, const LayerCall& call, const SampleBlock& block,
                        Real* gradient);
void InputDeltaOfBlock(const LayerPlan& layer, const LayerCall& call, const SampleBlock& block);

}  // namespace sotto::nn
