// A firmware that classifies: a trained model and samples in flash, a class for each sample out. It
// cannot train, and has neither a heap nor a network.
//
// Classes go to QEMU's standard error, one a line. Exit status: 0 all samples have a class, 1 a
// sample has none, 2 the samples are not of the model's size. Part of examples/classify.
#include SOTTO_TRAINED_MODEL

#include "sotto/emulated/semihosting.h"

// The unchanged file. A sensor of yours fills `features` instead.
__asm(
    ".section .rodata.sotto_samples, \"a\"\n"
    ".balign 4\n"
    ".global sotto_samples_begin, sotto_samples_end\n"
    "sotto_samples_begin:\n"
    ".incbin \"" SOTTO_SAMPLES
    "\"\n"
    "sotto_samples_end:\n"
    ".previous\n");

extern "C" {
extern const float sotto_samples_begin[];
extern const float sotto_samples_end[];
}

namespace {

using SOTTO_MODEL::kModel;
using SOTTO_MODEL::kParameters;
using SOTTO_MODEL::Net;
static_assert(Net::kClasses > 0, "a model of classes");

float scratch[sotto::PredictFloats<Net>()];
float outputs[Net::kOutputs];

bool Classify(const float* sample, uint32_t* label) {
  const sotto::Span<const float> features(sample, Net::kInputs);
  if (sotto::Predict(kModel, kParameters, features, scratch, outputs) != sotto::Status::kOk) {
    return false;
  }
  *label = sotto::PredictedClass(kModel, outputs);
  return true;
}

}  // namespace

int main(int, char**) {
  const auto numbers = static_cast<size_t>(sotto_samples_end - sotto_samples_begin);
  if (numbers == 0 || numbers % Net::kInputs != 0) return 2;
  for (const float* at = sotto_samples_begin; at != sotto_samples_end; at += Net::kInputs) {
    uint32_t label = 0;
    if (!Classify(at, &label)) return 1;
    sotto::emulated::Print(label);
    sotto::emulated::Print("\n");
  }
  return 0;
}
