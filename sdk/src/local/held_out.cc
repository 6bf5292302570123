#include "sotto/held_out.h"

#include "base/exact_arithmetic.h"
#include "nn/tokens.h"
#include "sotto/predict.h"

namespace sotto {
namespace {

bool AreTaken(const ModelInfo& model, Span<const float> features) {
  const uint32_t tokens = model.layers[0].tokens;
  return tokens == 0 || nn::AreTokens(features, tokens);
}

}  // namespace

Status CountCorrect(const ModelInfo& model, Span<const float> parameters,
                    const SampleSource& samples, uint32_t first, uint32_t count,
                    Span<float> scratch, uint32_t* correct) {
  if (scratch.size() < EvaluationFloats(model)) return Status::kBufferTooSmall;
  const Span<float> features = scratch.first(model.inputs);
  const Span<float> outputs = scratch.subspan(scratch.size() - model.outputs);
  for (uint32_t i = first; i < first + count; ++i) {
    uint32_t label = 0;
    if (Status s = samples.read(samples.context, i, features, &label); s != Status::kOk) return s;
    if (label >= model.classes || !AreTaken(model, features)) return Status::kOutOfRange;
    model.predict(model, parameters, features, scratch.first(scratch.size() - model.outputs),
                  outputs);
    if (PredictedClass(model, outputs) == label) ++*correct;
  }
  return Status::kOk;
}

}  // namespace sotto
