#include "nn/walker.h"

#include "nn/kernels.h"
#include "sotto/net_memory.h"

namespace sotto::nn {
// A layer and its memory.
struct Walker::Place {
  const LayerPlan* layer;
  size_t first;  // of its parameters
  Real* input;
  Real* kept;
  Real* gradient;

  size_t inputs() const { return layer->info.input.size(); }
  size_t outputs() const { return layer->info.output.size(); }
  Real* output() const { return layer->is_in_place ? input : input + inputs(); }
};

Walker::Walker(Span<const LayerPlan> plan, const Real* parameters, Real* memory, size_t batch)
    : plan_(plan),
      parameters_(parameters),
      first_trained_(plan.begin()),
      batch_(batch),
      tensors_(memory) {
  while (first_trained_ != plan.end() && first_trained_->trained() == 0) ++first_trained_;
  kept_ = memory + plan[0].info.input.size();
  for (const LayerPlan& layer : plan) kept_ += TensorSize(layer);
  gradients_ = kept_;
  for (const LayerPlan& layer : plan) gradients_ += layer.kept;
  scratch_ = gradients_;
  for (const LayerPlan& layer : plan) scratch_ += GradientSize(layer, batch);
}

Walker::Place Walker::First() const { return {plan_.begin(), 0, tensors_, kept_, gradients_}; }

void Walker::Advance(Place* at) const {
  const LayerPlan& left = *at->layer;
  at->input = at->output();
  at->first += left.trained();
  at->kept += left.kept;
  at->gradient += GradientSize(left, batch_);
  ++at->layer;
}

void Walker::Retreat(Place* at) const {
  --at->layer;
  const LayerPlan& entered = *at->layer;
  if (!entered.is_in_place) at->input -= entered.info.input.size();
  at->first -= entered.trained();
  at->kept -= entered.kept;
  at->gradient -= GradientSize(entered, batch_);
}

LayerCall Walker::CallOf(const Place& at) const {
  const Real* const frozen = at.layer->frozen;
  const Real* const parameters = frozen == nullptr ? parameters_ + at.first : frozen;
  return {at.layer->info, parameters, at.input, at.output(), at.kept, scratch_};
}

Span<Real> Walker::output() const {
  Place at = First();
  while (at.layer + 1 != plan_.end()) Advance(&at);
  return {at.output(), at.outputs()};
}

void Walker::BeginBatch() {
  samples_ = 0;
  for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
    if (!KeepsBatch(*at.layer, batch_)) FillZero(at.layer->trained(), at.gradient);
  }
}

void Walker::Forward() {
  for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
    if (at.layer->functions.forward != nullptr) at.layer->functions.forward(CallOf(at));
  }
}

// Before the first layer that is trained a delta would go nowhere.
void Walker::Backward() {
  Place at = First();
  while (at.layer != plan_.end()) Advance(&at);
  while (at.layer != first_trained_) {
    Retreat(&at);
    AddGradient(at);
    if (at.layer != first_trained_ && at.layer->functions.input_delta != nullptr) {
      at.layer->functions.input_delta(CallOf(at));
    }
  }
  ++samples_;
}

void Walker::AddGradient(const Place& at) {
  if (at.layer->trained() == 0) return;
  if (KeepsBatch(*at.layer, batch_)) {
    KeepSample(at);
  } else {
    at.layer->functions.add_gradient(CallOf(at), at.gradient);
  }
}

// Behind the inputs of the batch its output deltas.
void Walker::KeepSample(const Place& at) {
  Copy(at.input, at.inputs(), at.gradient + samples_ * at.inputs());
  Copy(at.output(), at.outputs(), at.gradient + batch_ * at.inputs() + samples_ * at.outputs());
}

void Walker::Step(Real decay, Real rate, Real* parameters) const {
  for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
    const size_t n = at.layer->trained();
    if (n == 0) continue;
    if (decay != Real{1}) Scale(decay, n, parameters + at.first);
    if (KeepsBatch(*at.layer, batch_)) {
      AddKeptGradient(at, rate, parameters + at.first);
    } else {
      AddScaled(rate, at.gradient, n, parameters + at.first);
    }
  }
}

// Two rows of weights at a time, then the biases. An odd last row is done alone.
void Walker::AddKeptGradient(const Place& at, Real rate, Real* parameters) const {
  const size_t n = at.inputs();
  const size_t outputs = at.outputs();
  const Real* const inputs = at.gradient;
  const Real* const deltas = at.gradient + batch_ * n;
  for (size_t o = 0; o < outputs; o += 2) {
    const size_t rows = o + 1 < outputs ? 2 : 1;
    FillZero(rows * n, scratch_);
    for (size_t s = 0; s < samples_; ++s) {
      AddOuterProduct(deltas + s * outputs + o, rows, inputs + s * n, n, scratch_);
    }
    AddScaled(rate, scratch_, rows * n, parameters + o * n);
  }
  FillZero(outputs, scratch_);
  for (size_t s = 0; s < samples_; ++s) AddScaled(Real{1}, deltas + s * outputs, outputs, scratch_);
  AddScaled(rate, scratch_, outputs, parameters + n * outputs);
}

}  // namespace sotto::nn
