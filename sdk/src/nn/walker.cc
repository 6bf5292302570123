#include "nn/walker.h"

#include "base/exact_arithmetic.h"

namespace sotto::nn {

Walker::Walker(Span<const LayerPlan> plan, const Real* parameters, Real* memory, size_t batch,
               bool* saturated)
    : plan_(plan),
      parameters_(parameters),
      first_trained_(plan.begin()),
      batch_(batch),
      saturated_(saturated),
      tensors_(memory) {
  while (first_trained_ != plan.end() && first_trained_->trained() == 0) ++first_trained_;
  kept_ = memory + FirstTensorSize(plan[0]);
  for (const LayerPlan& layer : plan) kept_ += TensorSize(layer);
  gradients_ = kept_;
  for (const LayerPlan& layer : plan) gradients_ += layer.kept;
  scratch_ = gradients_;
  for (const LayerPlan& layer : plan) scratch_ += GradientSize(layer, batch);
}

Walker::Place Walker::First() const {
  return {plan_.begin(), 0, tensors_, tensors_, kept_, gradients_};
}

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
  at->input = tensors_ + InputAt(plan_.begin(), static_cast<size_t>(at->layer - plan_.begin()));
  at->first -= entered.trained();
  at->kept -= entered.kept;
  at->gradient -= GradientSize(entered, batch_);
}

LayerCall Walker::CallOf(const Place& at) const {
  const Real* const frozen = at.layer->frozen;
  const Real* const parameters = frozen == nullptr ? parameters_ + at.first : frozen;
  return {at.layer->info, parameters, at.input,   at.output(),
          at.kept,        scratch_,   saturated_, tensors_ + at.layer->branch_at};
}

Span<Real> Walker::output() const {
  const LayerPlan& last = plan_[plan_.size() - 1];
  return {tensors_ + last.output_at, last.info.output.size()};
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
    at.layer->functions.add_gradient(CallOf(at), GradientOf(at));
  }
}

// Where a sample's gradient is added: to the sum of the batch, or apart.
Real* Walker::GradientOf(const Place& at) const {
  if (sample_ == nullptr) return at.gradient;
  FillZero(at.layer->trained(), sample_ + at.first);
  return sample_ + at.first;
}

void Walker::AddNormOfSample(GradientNorm* norm) const {
  for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
    const size_t n = at.layer->trained();
    if (n == 0) continue;
    if (KeepsBatch(*at.layer, batch_)) {
      const size_t last = samples_ - 1;
      norm->AddOuterProduct(KeptDeltas(at, last), at.outputs(), KeptInputs(at, last), at.inputs());
    } else {
      norm->Add(sample_ + at.first, n);
    }
  }
}

void Walker::AddSample(Real factor) {
  for (Place at = First(); at.layer != plan_.end(); Advance(&at)) {
    const size_t n = at.layer->trained();
    if (n == 0) continue;
    if (KeepsBatch(*at.layer, batch_)) {
      Scale(factor, at.outputs(), KeptDeltas(at, samples_ - 1));
    } else {
      AddScaled(factor, sample_ + at.first, n, at.gradient);
    }
  }
}

// Behind the inputs of the batch its output deltas.
void Walker::KeepSample(const Place& at) {
  Copy(at.input, at.inputs(), KeptInputs(at, samples_));
  Copy(at.output(), at.outputs(), KeptDeltas(at, samples_));
}

}  // namespace sotto::nn
