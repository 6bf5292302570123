// A device's held-out samples: it never trains on them and counts how many the round's model gets
// right. Part of sotto/local.
//
// The application chooses the held-out samples. Keep the same samples in every job: if one job
// trained on a sample, it says little about the next job's model. Windows over a recording overlap:
// split the recording first, then cut each part into windows.
//
//   static const HeldOut held_out = MakeHeldOut({kHeldOutSamples, ReadHeldOut, nullptr});
//   config.held_out = &held_out;   // a firmware without this line links no evaluation
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/model_info.h"
#include "sotto/sample_source.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

struct HeldOut {
  SampleSource samples;  // count may be 0: such a device tells neither good nor bad
  // MakeHeldOut() sets it.
  Status (*count_correct)(const ModelInfo& model, Span<const float> parameters,
                          const SampleSource& samples, uint32_t first, uint32_t count,
                          Span<float> scratch, uint32_t* correct) = nullptr;
};

// Floats of scratch memory that CountCorrect() needs. A training needs at least as many, except for
// nets in fixed point, for which CountCorrect() needs one for each parameter.
inline size_t EvaluationFloats(const ModelInfo& model) {
  const size_t predict = model.predict_floats(model);
  return (predict > model.inputs ? predict : model.inputs) + model.outputs;
}

// Adds to *correct the number of the samples first, first + 1, ... whose label the model predicts.
// The model's answer is the class with the highest output, the lowest such class in a tie; a single
// output tells two classes apart by its sign.
//   model    tells classes apart
//   scratch  [EvaluationFloats(model)]
// Returns kOk, kBufferTooSmall, kOutOfRange for a label or a token that the model does not have, or
// the sample callback's status.
Status CountCorrect(const ModelInfo& model, Span<const float> parameters,
                    const SampleSource& samples, uint32_t first, uint32_t count,
                    Span<float> scratch, uint32_t* correct);

inline HeldOut MakeHeldOut(const SampleSource& samples) { return {samples, CountCorrect}; }

}  // namespace sotto
