// Predictions by blocks, and models that train by them.
#include "sotto/blocks.h"

#include "base/exact_arithmetic.h"
#include "nn/block_net.h"
#include "nn/kernels.h"
#include "sotto/nn.h"

namespace sotto {
namespace {

using nn::BlockKernels;
using nn::SampleBlock;

const BlockKernels& FastestKernels() {
  const Span<const BlockKernels* const> all = nn::AllBlockKernels();
  return *all[all.size() - 1];
}

bool IsNet(const ModelInfo& model) { return model.predict == nn::internal::NetPredict; }

bool IsSoftmaxRegression(const ModelInfo& model) {
  return model.predict == nn::internal::SoftmaxPredict ||
         model.predict == nn::internal::PreparedSoftmaxPredict;
}

size_t OutputOf(const ModelInfo& model) {
  return IsNet(model) ? model.layers[model.layers.size() - 1].output_at
                      : nn::FirstTensorSize(model.layers[0]);
}

// Of a model that is no net a sample's memory is its features and its outputs.
size_t StrideOf(const ModelInfo& model) {
  return nn::BlockStride(IsNet(model) ? nn::NetMemory(model.layers, 0)
                                      : OutputOf(model) + model.outputs);
}

// Behind the samples.
size_t ScratchOf(const ModelInfo& model, size_t samples) {
  if (IsNet(model)) return nn::MostBlockScratch(model.layers, samples);
  if (IsSoftmaxRegression(model))
    return nn::DenseBlockScratch(model.PreparedShape().size(), samples);
  return model.predict_floats(model);
}

Status TrainByBlocks(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                     const WorkingParameters& working, Span<float> scratch, float* loss) {
  return nn::TrainBlocks(FastestKernels(), model, batch, step, working, scratch, loss);
}

}  // namespace

size_t BlockPredictor::Samples(const ModelInfo& model, size_t wanted) {
  return nn::BlockSamples(StrideOf(model), wanted);
}

size_t BlockPredictor::ScratchFloats(const ModelInfo& model, size_t samples) {
  return samples * StrideOf(model) + ScratchOf(model, samples);
}

BlockPredictor::BlockPredictor(const ModelInfo& model, Span<const float> parameters, size_t samples,
                               Span<float> scratch)
    : model_(model),
      parameters_(parameters),
      stride_(StrideOf(model)),
      output_at_(OutputOf(model)),
      memory_(scratch.data()),
      scratch_(scratch.data() + samples * stride_) {}

void BlockPredictor::Run(size_t count) {
  if (!IsNet(model_) && !IsSoftmaxRegression(model_)) return RunOneByOne(count);
  for (size_t s = 0; s < count; ++s) {
    nn::Prepare(model_.preparation, features(s).data());
  }
  const SampleBlock block{FastestKernels(), count, stride_, scratch_};
  if (IsNet(model_)) {
    const nn::Walker walker(model_.layers, parameters_.data(), memory_, 0);
    return nn::ForwardAll(walker, block, false);
  }
  const size_t n = model_.PreparedShape().size();
  const float* const weights = parameters_.data();
  block.kernels.dense_forward({weights, weights + n * model_.outputs, n, model_.outputs},
                              {memory_, stride_}, count, scratch_, {memory_ + output_at_, stride_});
}

void BlockPredictor::RunOneByOne(size_t count) {
  for (size_t s = 0; s < count; ++s) {
    float* const outputs = memory_ + s * stride_ + output_at_;
    model_.predict(model_, parameters_, features(s), {scratch_, model_.predict_floats(model_)},
                   {outputs, model_.outputs});
  }
}

ModelInfo WithBlocks(const ModelInfo& model) {
  using nn::internal::NetTrainBatch;
  using nn::internal::TrainPrepared;
  ModelInfo with = model;
  if (model.train_batch == NetTrainBatch) {
    with.train_batch = TrainByBlocks;
  } else if (model.train_batch == TrainPrepared<NetTrainBatch>) {
    with.train_batch = TrainPrepared<TrainByBlocks>;
  } else {
    return with;
  }
  with.training_floats = nn::BlockTrainingFloats;
  return with;
}

}  // namespace sotto
