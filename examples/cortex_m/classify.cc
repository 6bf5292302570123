#include "classify.h"

#include "sotto/emulated/semihosting.h"

namespace sotto {

using emulated::Print;

Status Classify(const ModelInfo& model, Span<const float> parameters, const SampleSource& samples,
                Span<float> memory) {
  const Span<float> features = memory.first(model.inputs);
  const Span<float> outputs = memory.subspan(model.inputs, model.outputs);
  const Span<float> scratch = memory.subspan(model.inputs + model.outputs);
  uint32_t right = 0;
  Print("classes:");
  for (uint32_t i = 0; i < samples.count; ++i) {
    uint32_t label = 0;
    Status status = samples.read(samples.context, i, features, &label);
    if (status == Status::kOk) status = Predict(model, parameters, features, scratch, outputs);
    if (status != Status::kOk) return status;
    const uint32_t found = PredictedClass(model, outputs);
    Print(" ");
    Print(found);
    right += found == label ? 1 : 0;
  }
  Print("\n");
  Print(right);
  Print(" of ");
  Print(samples.count);
  Print(" are right\n");
  return Status::kOk;
}

}  // namespace sotto
