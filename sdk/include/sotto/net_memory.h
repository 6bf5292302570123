// The workspace of a net in training, counted when it compiles. Part of sotto/nn.
//
// A net needs, in Reals: the memory of its first tensor, in which samples are prepared; its
// tensors, each with its activation and then its delta (a layer in place has none; all of them live
// until the net is through, so a branch needs no more than its tensors); what layers keep for the
// way back; scratch, shared by all; and for each layer with parameters what its gradient needs, the
// smaller of two:
//   sum    [parameters] the gradient so far: for few weights that are used at many positions
//   batch  [batch][inputs + outputs] inputs and output deltas of the batch: for many weights. The
//          gradient is computed in the end, two rows at a time in scratch.
// Both give the same bits: a weight's gradient is one running sum over the samples in their order,
// from zero.
#pragma once

#include "sotto/layer.h"
#include "sotto/loss.h"

namespace sotto::nn {

// The memory of the first tensor.
constexpr size_t FirstTensorSize(const LayerPlan& first) {
  const uint32_t input = first.info.input.size();
  return first.prepared_in > input ? first.prepared_in : input;
}

// Where the input of a layer lies among the tensors: it is the output of the layer before.
constexpr size_t InputAt(const LayerPlan* plan, size_t layer) {
  return layer == 0 ? 0 : plan[layer - 1].output_at;
}

// Where the branch lies that a layer takes: since the last Fork or Swap of its number it waits
// there.
constexpr size_t BranchAt(const LayerPlan* plan, size_t layer) {
  for (size_t i = layer; i-- > 0;) {
    const LayerInfo& info = plan[i].info;
    if (info.LeavesBranch() && info.size == plan[layer].info.size) return InputAt(plan, i);
  }
  return 0;
}

// Gives each layer of a net its places. A new tensor lies behind all others, so none that is read
// again is overwritten but by a layer that works in place on it.
constexpr void PlaceTensors(LayerPlan* plan, size_t layers) {
  size_t end = FirstTensorSize(plan[0]);
  for (size_t i = 0; i < layers; ++i) {
    LayerPlan& layer = plan[i];
    layer.output_at = layer.is_in_place ? InputAt(plan, i) : end;
    if (!layer.is_in_place) end += layer.info.output.size();
    if (!layer.info.TakesBranch()) continue;
    layer.branch_at = BranchAt(plan, i);
    if (layer.info.LeavesBranch()) layer.output_at = layer.branch_at;
  }
}

constexpr size_t TensorSize(const LayerPlan& layer) {
  return layer.is_in_place ? 0 : layer.info.output.size();
}

constexpr size_t BatchSize(const LayerPlan& layer, size_t batch) {
  return batch * (size_t{layer.info.input.size()} + layer.info.output.size());
}

// Scratch of a layer that keeps its batch: two rows of weights, or all biases.
constexpr size_t RowsSize(const LayerPlan& layer) {
  const size_t rows = size_t{2} * layer.info.input.size();
  return rows > layer.info.output.size() ? rows : layer.info.output.size();
}

// Whether a layer keeps its batch rather than a sum. Because the scratch counts here, a smaller
// batch never needs more memory than a larger one.
constexpr bool KeepsBatch(const LayerPlan& layer, size_t batch) {
  return layer.is_outer_product && BatchSize(layer, batch) + RowsSize(layer) < layer.trained();
}

constexpr size_t GradientSize(const LayerPlan& layer, size_t batch) {
  if (batch == 0) return 0;
  return KeepsBatch(layer, batch) ? BatchSize(layer, batch) : layer.trained();
}

// Reals for batches of at most `batch` samples. 0: for a prediction.
constexpr size_t NetMemory(Span<const LayerPlan> plan, size_t batch) {
  size_t size = FirstTensorSize(plan[0]);
  size_t scratch = 0;
  for (const LayerPlan& layer : plan) {
    size += TensorSize(layer) + layer.kept + GradientSize(layer, batch);
    const size_t rows = batch > 0 && KeepsBatch(layer, batch) ? RowsSize(layer) : 0;
    const size_t most = layer.scratch > rows ? layer.scratch : rows;
    scratch = most > scratch ? most : scratch;
  }
  return size + scratch;
}

// A lone Dense with softmax and cross-entropy has a separate training, which needs less memory.
constexpr bool IsSoftmaxRegression(Span<const LayerPlan> plan, const LossPlan& loss) {
  return plan.size() == 1 && plan[0].info.kind == LayerKind::kDense && plan[0].frozen == nullptr &&
         loss.kind == LossKind::kSoftmaxCrossEntropy;
}

// Reals of scratch memory in a training with batches of at most `batch` samples: for the net and a
// target.
constexpr size_t TrainingMemory(Span<const LayerPlan> plan, const LossPlan& loss, size_t batch) {
  const LayerInfo& last = plan[plan.size() - 1].info;
  if (IsSoftmaxRegression(plan, loss)) {
    return FirstTensorSize(plan[0]) + batch * last.output.size();
  }
  return NetMemory(plan, batch) + (loss.target == TargetKind::kVector ? last.output.size() : 0);
}

}  // namespace sotto::nn
