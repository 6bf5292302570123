// A node's samples as lemma 1 of peer_job.h needs them. Part of sotto/peer; private to the SDK.
//
// Unit `sample`: features are scaled to the norm feature_norm if theirs is above it, and a sample
// that cannot be read, is not finite or has a label that the model does not have counts as zeros
// with label 0: whatever a sample is, it is one of bounded norm. Other units read samples as they
// are. One thread at a time.
#pragma once

#include "base/exact_arithmetic.h"
#include "sotto/peer_job.h"
#include "sotto/sample_source.h"

namespace sotto {

class BoundedSamples {
 public:
  // All three outlive the object.
  BoundedSamples(const ModelInfo& model, const PeerJob& job, const SampleSource& raw)
      : model_(model), job_(job), raw_(raw) {}

  // It ends with the object.
  SampleSource source();

 private:
  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadVector(void* context, uint32_t index, Span<float> features, Span<float> target);
  void Bound(Span<float> features) const;

  const ModelInfo& model_;
  const PeerJob& job_;
  const SampleSource& raw_;
};

}  // namespace sotto
