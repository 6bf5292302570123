// Forward and back through a net for one mini-batch. Part of sotto/nn; private to the SDK.
//
// Memory: sotto/net_memory.h, from the front tensors, kept, gradients, scratch. After a batch every
// parameter becomes decay * parameter + rate * gradient.
//
// The way through the layers is the same in every arithmetic, since a plan has the arithmetic's
// functions. Step() takes its kernels from an Arithmetic, a type with these members:
//   Move(decay, rate, gradient, n, y)  y <- decay * y + rate * gradient, parameters
//   AddOuterProduct(deltas, rows, inputs, n, gradient)
//                                      as LayerFunctions::add_gradient of a Dense, its weights
//   AddDeltas(deltas, n, gradient)     the same, its biases
//
// One thread at a time.
#pragma once

#include "base/exact_arithmetic.h"
#include "nn/gradient_norm.h"
#include "nn/kernels.h"
#include "sotto/net_memory.h"

namespace sotto::nn {

struct FloatArithmetic {
  static void Move(Real decay, Real rate, const Real* gradient, size_t n, Real* y) {
    DecayAndAdd(decay, rate, gradient, n, y);
  }
  static void AddOuterProduct(const Real* deltas, size_t rows, const Real* inputs, size_t n,
                              Real* gradient) {
    nn::AddOuterProduct(deltas, rows, inputs, n, gradient);
  }
  static void AddDeltas(const Real* deltas, size_t n, Real* gradient) {
    AddScaled(Real{1}, deltas, n, gradient);
  }
};

class Walker {
 public:
  //   parameters  of all layers that are trained, one after the other
  //   memory      [NetMemory(plan, batch)]
  //   batch       the most samples of a batch; 0: for Forward() alone
  //   saturated   see LayerCall
  Walker(Span<const LayerPlan> plan, const Real* parameters, Real* memory, size_t batch,
         bool* saturated = nullptr);

  // The first and the last tensor.
  Span<Real> input() const { return {tensors_, plan_[0].info.input.size()}; }
  Span<Real> output() const;

  void BeginBatch();

  // Gradients of single samples, in float32. From BeginBatch() on Backward() leaves a sample's
  // gradient apart, of layers that sum gradients in `gradient` [parameters]; AddSample() adds
  // factor times it to the batch's. Between the two AddNormOfSample().
  void SeparateSamples(Real* gradient) { sample_ = gradient; }
  void AddNormOfSample(GradientNorm* norm) const;
  void AddSample(Real factor);

  // visit(layer, call) for each layer that does something on the way forward, in their order.
  template <class Visit>
  void ForEachForward(Visit visit) const {
    for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
      if (at.layer->functions.forward != nullptr) visit(*at.layer, CallOf(at));
    }
  }

  // visit(layer, call, gives) for each layer from the last to the first that is trained, which
  // alone gives no delta to its input.
  template <class Visit>
  void ForEachBackward(Visit visit) const {
    Place at = First();
    while (at.layer != plan_.end()) Advance(&at);
    while (at.layer != first_trained_) {
      Retreat(&at);
      visit(*at.layer, CallOf(at), at.layer != first_trained_);
    }
  }

  // input() holds a sample, output() then its scores.
  void Forward();
  // output() holds the delta of the scores. Overwrites all tensors.
  void Backward();
  // Moves parameters, those that the walker reads or others: parameter <- decay * parameter
  // + rate * gradient, the gradient summed over the samples since BeginBatch().
  template <class Arithmetic = FloatArithmetic>
  void Step(Real decay, Real rate, Real* parameters, const Arithmetic& arithmetic = {}) const;

 private:
  // A layer and its memory.
  struct Place {
    const LayerPlan* layer;
    size_t first;  // of its parameters
    Real* tensors;
    Real* input;
    Real* kept;
    Real* gradient;

    size_t inputs() const { return layer->info.input.size(); }
    size_t outputs() const { return layer->info.output.size(); }
    Real* output() const { return tensors + layer->output_at; }
  };

  Place First() const;
  void Advance(Place* at) const;
  void Retreat(Place* at) const;
  LayerCall CallOf(const Place& at) const;
  void AddGradient(const Place& at);
  Real* GradientOf(const Place& at) const;
  void KeepSample(const Place& at);
  // The inputs and the output deltas of sample s that a layer has kept.
  Real* KeptInputs(const Place& at, size_t s) const { return at.gradient + s * at.inputs(); }
  Real* KeptDeltas(const Place& at, size_t s) const {
    return at.gradient + batch_ * at.inputs() + s * at.outputs();
  }
  template <class Arithmetic>
  void AddKeptGradient(const Place& at, Real decay, Real rate, Real* parameters,
                       const Arithmetic& arithmetic) const;

  const Span<const LayerPlan> plan_;
  const Real* const parameters_;
  const LayerPlan* first_trained_;
  const size_t batch_;
  bool* const saturated_;
  size_t samples_ = 0;  // of the batch so far
  Real* tensors_ = nullptr;
  Real* kept_ = nullptr;
  Real* scratch_ = nullptr;
  Real* gradients_ = nullptr;
  Real* sample_ = nullptr;
};

template <class Arithmetic>
void Walker::Step(Real decay, Real rate, Real* parameters, const Arithmetic& arithmetic) const {
  for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
    const size_t n = at.layer->trained();
    if (n == 0) continue;
    if (KeepsBatch(*at.layer, batch_)) {
      AddKeptGradient(at, decay, rate, parameters + at.first, arithmetic);
    } else {
      arithmetic.Move(decay, rate, at.gradient, n, parameters + at.first);
    }
  }
}

// Two rows of weights at a time, then the biases. An odd last row is done alone.
template <class Arithmetic>
void Walker::AddKeptGradient(const Place& at, Real decay, Real rate, Real* parameters,
                             const Arithmetic& arithmetic) const {
  const size_t n = at.inputs();
  const size_t outputs = at.outputs();
  const Real* const inputs = at.gradient;
  const Real* const deltas = at.gradient + batch_ * n;
  for (size_t o = 0; o < outputs; o += 2) {
    const size_t rows = o + 1 < outputs ? 2 : 1;
    FillZero(rows * n, scratch_);
    for (size_t s = 0; s < samples_; ++s) {
      arithmetic.AddOuterProduct(deltas + s * outputs + o, rows, inputs + s * n, n, scratch_);
    }
    arithmetic.Move(decay, rate, scratch_, rows * n, parameters + o * n);
  }
  FillZero(outputs, scratch_);
  for (size_t s = 0; s < samples_; ++s) {
    arithmetic.AddDeltas(deltas + s * outputs, outputs, scratch_);
  }
  arithmetic.Move(decay, rate, scratch_, outputs, parameters + n * outputs);
}

}  // namespace sotto::nn
