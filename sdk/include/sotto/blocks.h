// Several samples at once, for hosts, to the bits of a device. Part of sotto/nn.
//
// A device goes through its net one sample at a time, since that takes the least memory; so it
// reads each weight again for each sample. A host has memory for a block of samples and reads each
// weight once for all of them, with the widest vectors that its CPU has. Every sum has the same
// terms in the same order as on a device, so outputs and trained parameters have the same bits.
// No ModelInfo of a firmware names these functions, so a firmware links none of them.
//
// The memory of a block is bounded: as many samples as fit into kMostBlockFloats numbers, at least
// one and at most 64; beside them scratch for one layer, and in a training what gradients need.
// Threads may share a model if each has its own memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/model_info.h"

namespace sotto {

// Of the samples of a block: 16 MiB.
constexpr size_t kMostBlockFloats = size_t{1} << 22;

// Predictions of one model for blocks of samples.
//   const size_t most = BlockPredictor::Samples(model, all);
//   std::vector<float> scratch(BlockPredictor::ScratchFloats(model, most));
//   BlockPredictor predictor(model, parameters, most, {scratch.data(), scratch.size()});
// and then for each block of `count` samples: write predictor.features(s) for s < count,
// Run(count), and read predictor.outputs(s).
class BlockPredictor {
 public:
  // How many of `wanted` samples, at least 1, a block of a model takes.
  static size_t Samples(const ModelInfo& model, size_t wanted);
  // Floats of scratch for blocks of at most `samples`, which Samples() has returned.
  static size_t ScratchFloats(const ModelInfo& model, size_t samples);

  //   model       with ModelInfo::predict
  //   parameters  [model.parameters] float32, unchanged while it is used
  //   samples     the most of a block
  //   scratch     [ScratchFloats(model, samples)]
  BlockPredictor(const ModelInfo& model, Span<const float> parameters, size_t samples,
                 Span<float> scratch);

  // Of sample s of a block: [model.inputs] raw features, to be written before Run(), which
  // overwrites them; [model.outputs] as ModelInfo::predict gives them, bit for bit.
  Span<float> features(size_t s) const { return {memory_ + s * stride_, model_.inputs}; }
  Span<const float> outputs(size_t s) const {
    return {memory_ + s * stride_ + output_at_, model_.outputs};
  }

  // The outputs of the first `count` samples; at least 1, at most `samples`.
  void Run(size_t count);

 private:
  void RunOneByOne(size_t count);

  const ModelInfo& model_;
  const Span<const float> parameters_;
  const size_t stride_;     // from sample to sample
  const size_t output_at_;  // of a sample's memory
  float* const memory_;
  float* const scratch_;  // behind the samples
};

// The same model with a training by blocks, for a host: train_batch and training_floats are others,
// all else is the same, the digest and the bits of a training too. A model that trains in another
// way stays as it is: softmax regression, fixed point. A step with a gradient clip goes sample by
// sample.
ModelInfo WithBlocks(const ModelInfo& model);

}  // namespace sotto
