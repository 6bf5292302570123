#include "peer/bounded_sample.h"

#include <cmath>

#include "base/exact_arithmetic.h"
#include "sotto/num.h"

namespace sotto {
namespace {

bool AreFinite(Span<const float> numbers) {
  for (const float x : numbers) {
    if (!IsFinite(x)) return false;
  }
  return true;
}

void SetZero(Span<float> numbers) {
  for (float& x : numbers) x = 0.0f;
}

}  // namespace

SampleSource BoundedSamples::source() {
  if (job_.unit != PeerUnit::kSample) return raw_;
  return {raw_.count, Read, this, ReadVector};
}

Status BoundedSamples::Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto& self = *static_cast<const BoundedSamples*>(context);
  const Status status = self.raw_.read(self.raw_.context, index, features, label);
  if (status != Status::kOk || *label >= self.model_.classes || !AreFinite(features)) {
    SetZero(features);
    *label = 0;
  }
  self.Bound(features);
  return Status::kOk;
}

Status BoundedSamples::ReadVector(void* context, uint32_t index, Span<float> features,
                                  Span<float> target) {
  const auto& self = *static_cast<const BoundedSamples*>(context);
  const Status status = self.raw_.read_vector(self.raw_.context, index, features, target);
  if (status != Status::kOk || !AreFinite(features) || !AreFinite(target)) {
    SetZero(features);
    SetZero(target);
  }
  self.Bound(features);
  return Status::kOk;
}

// In units of the largest feature, so that no square overflows. UnitNorm needs no help.
void BoundedSamples::Bound(Span<float> features) const {
  if (!model_.preparation.empty()) return;
  float largest = 0.0f;
  for (const float x : features) {
    const float magnitude = x < 0.0f ? -x : x;
    if (magnitude > largest) largest = magnitude;
  }
  if (largest == 0.0f) return;
  float squares = 0.0f;
  for (const float x : features) squares += (x / largest) * (x / largest);
  const float norm = std::sqrt(squares);
  if (largest <= job_.feature_norm / norm) return;
  for (float& x : features) x = x / largest * (job_.feature_norm / norm);
}

}  // namespace sotto
