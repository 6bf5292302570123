// A net with a block of samples, forward and back. Part of sotto/nn; private to the SDK. For hosts:
// see sotto/blocks.h.
//
// Each sample has the memory of a prediction, tensors and what layers keep, a stride apart; the
// Walker goes through the memory of the first, and each layer works on all. One thread at a time.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/block_layers.h"
#include "nn/walker.h"
#include "sotto/blocks.h"

namespace sotto::nn {

// From sample to sample, for `floats` of each: whole vectors of the widest kind, and an odd number,
// so that the samples do not meet in the same lines of a cache.
constexpr size_t BlockStride(size_t floats) {
  constexpr size_t kVector = 16;
  return (((floats + kVector - 1) / kVector) | 1) * kVector;
}

// How many of `wanted` samples a block takes.
constexpr size_t BlockSamples(size_t stride, size_t wanted) {
  const size_t fit = kMostBlockFloats / stride;
  const size_t most = fit < 1 ? 1 : fit > kMostSamples ? kMostSamples : fit;
  return wanted < most ? wanted : most;
}

// Reals of scratch that each layer of a net needs for a block.
size_t MostBlockScratch(Span<const LayerPlan> plan, size_t samples);

// The forward pass of a block whose walker goes through the first sample.
void ForwardAll(const Walker& walker, const SampleBlock& block, bool keeps);

// ModelInfo::train_batch and training_floats by blocks, with the kernels that are given.
Status TrainBlocks(const BlockKernels& kernels, const ModelInfo& model, const Batch& batch,
                   const SgdStep& step, const WorkingParameters& working, Span<float> scratch,
                   float* loss);
size_t BlockTrainingFloats(const ModelInfo& model, uint32_t batch_size);

}  // namespace sotto::nn
