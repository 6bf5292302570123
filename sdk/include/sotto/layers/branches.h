// Nets with branches: a tensor is read by two layers, and what became of it is added.
// Part of sotto/nn.
//
//   Fork<1>   begins branch 1: the tensor here waits, and the net goes on with a copy of it
//   Add<1>    y = x + what waits in branch 1, which ends
//   Swap<1>   goes on with what waits in branch 1, and the tensor here waits in its stead
//
// A residual block, y = x + F(x), is a Fork, the layers of F, and an Add. One whose shortcut has
// layers, too, y = G(x) + F(x), has a Swap and the layers of G before its Add:
//
//   Fork<1>, Conv2d<16, 3, 1, 1>, Relu, Conv2d<16, 3, 1, 1>, Add<1>
//   Fork<1>, Conv2d<32, 3, 2, 1>, Relu, Conv2d<32, 3, 1, 1>, Swap<1>, Conv2d<32, 1, 2>, Add<1>
//
// A number is free again behind its Add. Blocks in blocks, and a tensor that more than two layers
// read, need several: each Fork adds one reader. Every branch ends in an Add, and the two tensors
// of an Add have the same shape. A net is read from front to back, so it has no cycles.
//
// Memory: Fork has one tensor, the copy; so layers behind it may work in place. Add and Swap have
// none. On the way back a tensor that waits gets the delta of its branch, then Fork adds
// the delta of its copy: delta = branch + copy, the same order on every CPU. A prediction takes the
// same tensors.
#pragma once

#include "sotto/layer.h"

namespace sotto {
namespace nn {
namespace internal {

void ForkForward(const LayerCall& call);
void ForkInputDelta(const LayerCall& call);
void AddForward(const LayerCall& call);
void AddInputDelta(const LayerCall& call);

void FixedForkInputDelta(const LayerCall& call);
void FixedAddForward(const LayerCall& call);

constexpr LayerPlan ForkPlan(uint32_t branch, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kFork, input, input, {}, branch};
  plan.functions.forward = ForkForward;
  plan.functions.input_delta = ForkInputDelta;
  return plan;
}

//   output  shape of what waits
constexpr LayerPlan SwapPlan(uint32_t branch, const Shape& input, const Shape& output) {
  LayerPlan plan;
  plan.info = {LayerKind::kSwap, input, output, {}, branch};
  plan.is_in_place = true;
  return plan;
}

constexpr LayerPlan AddPlan(uint32_t branch, const Shape& input) {
  LayerPlan plan;
  plan.info = {LayerKind::kAdd, input, input, {}, branch};
  plan.functions.forward = AddForward;
  plan.functions.input_delta = AddInputDelta;
  plan.is_in_place = true;
  return plan;
}

// In fixed point: see FixedPoint in nn.h. A copy is the same.
constexpr LayerPlan FixedFork(LayerPlan plan) {
  plan.functions.input_delta = FixedForkInputDelta;
  return plan;
}

constexpr LayerPlan FixedAdd(LayerPlan plan) {
  plan.functions.forward = FixedAddForward;
  return plan;
}

}  // namespace internal

// LayerInfo::size is `branch`, a number above 0. What waits is no property of an input's shape:
// net_plans.h makes the plans.
template <uint32_t branch>
struct Fork {
  static_assert(branch >= 1, "branches are numbered from 1");
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedFork(internal::ForkPlan(branch, input));
  }
};

template <uint32_t branch>
struct Swap {
  static_assert(branch >= 1, "branches are numbered from 1");
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::SwapPlan(branch, input, input);
  }
};

template <uint32_t branch>
struct Add {
  static_assert(branch >= 1, "branches are numbered from 1");
  static constexpr LayerPlan FixedPlan(const Shape& input) {
    return internal::FixedAdd(internal::AddPlan(branch, input));
  }
};

}  // namespace nn
}  // namespace sotto
