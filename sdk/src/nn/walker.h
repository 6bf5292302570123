// Forward and back through a net for one mini-batch. Part of sotto/nn; private to the SDK.
//
// Memory, in Reals, from the front: the tensors, each with its activation and then its delta (a
// layer in place has none of its own); what layers keep for the way back; scratch, shared by all;
// then for each layer with parameters what its gradient needs, the smaller of two:
//   sum    [parameters] the gradient so far: for few weights and many positions
//   batch  [batch][inputs + outputs] inputs and output deltas: for many weights. The gradient is
//          computed row by row in the end, through two rows of scratch. Fully connected layers only.
// Both give the same bits: a weight's gradient is one running sum over the samples in their order,
// from zero. Then every parameter becomes decay * parameter + rate * gradient.
//
// One thread at a time.
#ifndef SOTTO_NN_WALKER_H_
#define SOTTO_NN_WALKER_H_

#include "sotto/layer.h"

namespace sotto::nn {

class Walker {
 public:
  // Reals that a net needs for batches of at most `batch` samples.
  static size_t MemorySize(Span<const LayerPlan> plan, size_t batch);

  //   parameters  of all layers, one after the other
  //   memory      [MemorySize(plan, batch)]
  Walker(Span<const LayerPlan> plan, Real* parameters, Real* memory, size_t batch);

  // The first and the last tensor.
  Span<Real> input() const { return {tensors_, plan_[0].info.input.size()}; }
  Span<Real> output() const;

  void BeginBatch();
  // input() holds a sample, output() then its scores.
  void Forward();
  // output() holds the delta of the scores. Overwrites all tensors.
  void Backward();
  // Moves the parameters. The samples since BeginBatch() are those that count.
  void Step(Real decay, Real rate);

 private:
  struct Place;

  static bool KeepsBatch(const LayerPlan& layer, size_t batch);
  static size_t GradientSize(const LayerPlan& layer, size_t batch);
  Place First() const;
  void Advance(Place* at) const;
  void Retreat(Place* at) const;
  LayerCall CallOf(const Place& at) const;
  void AddGradient(const Place& at);
  void KeepSample(const Place& at);
  void StepWhole(const Place& at, Real decay, Real rate);
  void StepRows(const Place& at, Real decay, Real rate);

  const Span<const LayerPlan> plan_;
  Real* const parameters_;
  const size_t batch_;
  size_t samples_ = 0;  // of the batch so far
  Real* tensors_ = nullptr;
  Real* kept_ = nullptr;
  Real* scratch_ = nullptr;
  Real* gradients_ = nullptr;
};

}  // namespace sotto::nn

#endif  // SOTTO_NN_WALKER_H_
