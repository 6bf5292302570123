// A firmware that predicts: it has a trained model and samples in flash, and prints a line for each
// sample. It cannot train, and has neither a heap nor a network. The model decides what a line has:
//   classes       the class
//   autoencoder   the prediction error; behind it, if the header has a threshold, 1 for an anomaly
//                 or 0
//   regression    the predicted numbers
// Fractions are hexadecimal, as printf's %a: exact, and read by Python's float.fromhex().
//
// Lines go to QEMU's standard error. Exit status: 0 the model predicts for all samples, 1 it fails
// for one, 2 the samples do not have the model's size. Part of examples/classify.
#include SOTTO_TRAINED_MODEL

#include "sotto/bytes.h"
#include "sotto/emulated/semihosting.h"

// The unchanged file. Your sensor fills `features` instead.
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

using sotto::Status;
using sotto::emulated::Print;
using SOTTO_MODEL::kModel;
using SOTTO_MODEL::kParameters;
using SOTTO_MODEL::Net;

float scratch[sotto::PredictFloats<Net>()];
float outputs[Net::kOutputs];

// "-0x1.800000p-3": six digits behind the point hold every bit of a float32.
void Print(float value) {
  const uint32_t bits = sotto::FloatBits(value);
  const uint32_t exponent = (bits >> 23) & 0xff;  // 0: zero, or below all that have a leading 1
  const uint32_t fraction = (bits & 0x7fffff) << 1;
  char digits[] = "0.000000p";
  digits[0] = exponent > 0 ? '1' : '0';
  for (int i = 0; i < 6; ++i) digits[2 + i] = "0123456789abcdef"[(fraction >> (20 - 4 * i)) & 0xf];
  const int32_t power = static_cast<int32_t>(exponent > 0 ? exponent : 1) - 127;
  Print(bits >> 31 != 0 ? "-0x" : "0x");
  Print(digits);
  Print(power < 0 ? "-" : "+");
  Print(static_cast<uint32_t>(power < 0 ? -power : power));
}

void PrintClass() { Print(sotto::PredictedClass(kModel, outputs)); }

void PrintOutputs() {
  for (size_t k = 0; k < Net::kOutputs; ++k) {
    if (k > 0) Print(",");
    Print(outputs[k]);
  }
}

void PrintError(float error) {
  Print(error);
#if defined(SOTTO_HAS_THRESHOLD)
  Print(error > SOTTO_MODEL::kThreshold ? ",1" : ",0");
#endif
}

Status PrintPrediction(sotto::Span<const float> features) {
  if constexpr (kModel.loss.target == sotto::nn::TargetKind::kInput) {
    float error = 0;
    const Status status =
        sotto::PredictionError(kModel, kParameters, features, {}, scratch, outputs, &error);
    if (status == Status::kOk) PrintError(error);
    return status;
  } else {
    const Status status = sotto::Predict(kModel, kParameters, features, scratch, outputs);
    if (status == Status::kOk) Net::kClasses > 0 ? PrintClass() : PrintOutputs();
    return status;
  }
}

}  // namespace

int main(int, char**) {
  const auto numbers = static_cast<size_t>(sotto_samples_end - sotto_samples_begin);
  if (numbers == 0 || numbers % Net::kInputs != 0) return 2;
  for (const float* at = sotto_samples_begin; at != sotto_samples_end; at += Net::kInputs) {
    if (PrintPrediction({at, Net::kInputs}) != Status::kOk) return 1;
    Print("\n");
  }
  return 0;
}
