// Hears the word: the released model that a board has fetched into its flash, and a microphone. It
// cannot train, and has neither a heap nor a network.
//
// The microphone is a recording of 16 bits at 16 kHz in flash, SOTTO_STREAM, a WAV file of
// voices.cc. Four times a second the board looks at the last second. It prints where it hears the
// word: in two windows in a row, so a short sound that is like the word does not wake it. Messages
// go to QEMU's standard error. Exit status: 0, or 1 without a released model in flash. Part of
// examples/wake_word.
#include "sotto/emulated/model_flash.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/kept_model.h"
#include "sotto/models.h"
#include "sotto/predict.h"

// The unchanged file. Your microphone fills a ring of the last second instead.
__asm(
    ".section .rodata.sotto_stream, \"a\"\n"
    ".balign 4\n"
    ".global sotto_stream_begin, sotto_stream_end\n"
    "sotto_stream_begin:\n"
    ".incbin \"" SOTTO_STREAM
    "\"\n"
    "sotto_stream_end:\n"
    ".previous\n");

extern "C" {
extern const int16_t sotto_stream_begin[];
extern const int16_t sotto_stream_end[];
}

namespace {

using sotto::DsCnn;
using sotto::emulated::Print;

constexpr sotto::ModelInfo kModel =
    sotto::MakePredictionModel<DsCnn>("ds-cnn", sotto::kDsCnnClasses);
constexpr size_t kWaveHead = 44 / sizeof(int16_t);
constexpr size_t kRate = 16000;
constexpr size_t kHop = kRate / 4;
constexpr size_t kWord = 1;  // its class
constexpr float kThreshold = SOTTO_THRESHOLD / 100.0f;

float window[DsCnn::kInputs];
float scratch[sotto::PredictFloats<DsCnn>()];
float outputs[DsCnn::kOutputs];

bool HasWord(sotto::Span<const float> parameters, const int16_t* readings) {
  for (size_t i = 0; i < DsCnn::kInputs; ++i) window[i] = readings[i] * (1.0f / 32768);
  if (Predict(kModel, parameters, window, scratch, outputs) != sotto::Status::kOk) return false;
  return Probabilities(kModel, outputs, outputs) == sotto::Status::kOk &&
         outputs[kWord] > kThreshold;
}

// "2.50 s: the word"
void PrintTime(size_t reading) {
  const auto hundredths = static_cast<uint32_t>(reading * 100 / kRate);
  Print(hundredths / 100);
  Print(hundredths % 100 < 10 ? ".0" : ".");
  Print(hundredths % 100);
  Print(" s: the word\n");
}

void Listen(sotto::Span<const float> parameters) {
  const auto count = static_cast<size_t>(sotto_stream_end - sotto_stream_begin);
  size_t in_a_row = 0;
  for (size_t at = kWaveHead; at + DsCnn::kInputs <= count; at += kHop) {
    in_a_row = HasWord(parameters, sotto_stream_begin + at) ? in_a_row + 1 : 0;
    if (in_a_row == 2) PrintTime(at - kWaveHead);
  }
}

}  // namespace

int main(int, char**) {
  static sotto::KeptModel kept(sotto::emulated::OpenModelFlash(SOTTO_HOME), DsCnn::kParameters);
  if (kept.Restore() != sotto::Status::kOk || kept.release() == nullptr) {
    Print("no released model in flash\n");
    return 1;
  }
  Listen(kept.base());
  return 0;
}
