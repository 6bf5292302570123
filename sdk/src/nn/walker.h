// Forward and back through a net for one mini-batch. Part of sotto/nn; private to the SDK.
//
// Memory: sotto/net_memory.h, from the front tensors, kept, gradients, scratch. After a batch every
// parameter becomes decay * parameter + rate * gradient.
//
// One thread at a time.
#ifndef SOTTO_NN_WALKER_H_
#define SOTTO_NN_WALKER_H_

#include "sotto/layer.h"

namespace sotto::nn {

class Walker {
 public:
  //   parameters  of all layers that are trained, one after the other
  //   memory      [NetMemory(plan, batch)]
  //   batch       the most samples of a batch; 0: for Forward() alone
  Walker(Span<const LayerPlan> plan, const Real* parameters, Real* memory, size_t batch);

  // The first and the last tensor.
  Span<Real> input() const { return {tensors_, plan_[0].info.input.size()}; }
  Span<Real> output() const;

  void BeginBatch();
  // input() holds a sample, output() then its scores.
  void Forward();
  // output() holds the delta of the scores. Overwrites all tensors.
  void Backward();
  // Moves parameters, those that the walker reads or others: parameter <- decay * parameter
  // + rate * gradient, the gradient summed over the samples since BeginBatch().
  void Step(Real decay, Real rate, Real* parameters) const;

 private:
  struct Place;

  Place First() const;
  void Advance(Place* at) const;
  void Retreat(Place* at) const;
  LayerCall CallOf(const Place& at) const;
  void AddGradient(const Place& at);
  void KeepSample(const Place& at);
  void AddKeptGradient(const Place& at, Real rate, Real* parameters) const;

  const Span<const LayerPlan> plan_;
  const Real* const parameters_;
  const LayerPlan* first_trained_;
  const size_t batch_;
  size_t samples_ = 0;  // of the batch so far
  Real* tensors_ = nullptr;
  Real* kept_ = nullptr;
  Real* scratch_ = nullptr;
  Real* gradients_ = nullptr;
};

}  // namespace sotto::nn

#endif  // SOTTO_NN_WALKER_H_
