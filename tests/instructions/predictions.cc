// Instructions that a board spends on one prediction, in float32 and in fixed point, and on the
// features of a second of a signal.
//
// To be run by `qemu-system-arm -icount shift=0`, where the counter counts instructions;
// tests/size/table.sh does. Prints "predict `NAME`: N" for each model, parameters and features in
// flash, and "features NAME: N"; ends with 1 if a prediction fails.
#include "sotto/conformance/line.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/models.h"
#include "sotto/predict.h"

namespace sotto {
namespace {

using conformance::Line;
using nn::PreparationStep;

constexpr uint32_t kMaxInputs = 784;
constexpr uint32_t kMaxOutputs = 10;
constexpr uint32_t kTimes = 4;
constexpr uint32_t kSecond = 16000;            // readings of sound
constexpr size_t kMaxFloats = kSecond + 1024;  // and scratch of its transform

template <class T, size_t n>
struct Table {
  T values[n];
};

// Made-up contents, by a linear congruential generator, so that they lie in flash.
template <class T, size_t n>
constexpr Table<T, n> MakeTable(T (*entry)(int32_t random)) {
  Table<T, n> table{};
  uint32_t random = 1;
  for (T& value : table.values) {
    random = 1664525u * random + 1013904223u;
    value = entry(static_cast<int32_t>(random));
  }
  return table;
}

// In [-1/32, 1/32), as float32 and as FixedParameter::raw().
constexpr auto kFloats = MakeTable<float, LeNet::kParameters>(
    [](int32_t random) { return static_cast<float>(random) * 0x1p-36f; });
constexpr auto kRaw =
    MakeTable<int32_t, SmallCnn::kParameters>([](int32_t random) { return random / 4096; });
// In [0, 1), none zero.
constexpr auto kFeatures = MakeTable<float, kMaxInputs>(
    [](int32_t random) { return static_cast<float>(random & 0x7fffff00) * 0x1p-31f + 0x1p-20f; });

float g_scratch[kMaxFloats];
float g_outputs[kMaxOutputs];

template <class Net, class Number>
bool Measure(const char* name, const Number* parameters) {
  constexpr ModelInfo kModel = MakePredictionModel<Net>("net");
  static_assert(PredictFloats<Net>() <= kMaxFloats && Net::kOutputs <= kMaxOutputs);
  const Span<const Number> all(parameters, Net::kParameters);
  const Span<const float> features(kFeatures.values, Net::kInputs);
  const Span<float> outputs(g_outputs, Net::kOutputs);
  bool ok = true;
  const uint32_t start = emulated::Ticks();
  for (uint32_t i = 0; i < kTimes; ++i) {
    ok = ok && Predict(kModel, all, features, g_scratch, outputs) == Status::kOk;
  }
  const uint64_t instructions =
      uint64_t{emulated::Ticks() - start} * emulated::NanosecondsPerTick();
  Line line;
  line << "predict `" << name << "`: " << instructions / kTimes << "\n";
  emulated::Print(line.text());
  return ok;
}

void MeasureFeatures(const char* name, const PreparationStep& step) {
  uint32_t random = 1;
  for (uint32_t i = 0; i < step.input.size(); ++i) {
    random = 1664525u * random + 1013904223u;
    g_scratch[i] = static_cast<float>(static_cast<int32_t>(random)) * 0x1p-31f;
  }
  const uint32_t start = emulated::Ticks();
  nn::Prepare({&step, 1}, g_scratch);
  const uint64_t instructions =
      uint64_t{emulated::Ticks() - start} * emulated::NanosecondsPerTick();
  Line line;
  line << "features " << name << ": " << instructions << "\n";
  emulated::Print(line.text());
}

bool MeasureAll() {
  const float* const floats = kFloats.values;
  const int32_t* const raw = kRaw.values;
  return Measure<Softmax64x10>("softmax-64-10", floats) &&
         Measure<FixedSoftmax64x10>("softmax-64-10-q", raw) &&
         Measure<Softmax784x10>("softmax-784-10", floats) &&
         Measure<FixedSoftmax784x10>("softmax-784-10-q", raw) &&
         Measure<SmallCnn>("small-cnn", floats) &&
         Measure<nn::FixedPoint<SmallCnn>>("small-cnn-q", raw) && Measure<LeNet>("lenet", floats);
}

void MeasureAllFeatures() {
  constexpr auto kSpeech = nn::PlacedStep(nn::Mel<512, 320, 40, kSecond, 60, kSecond / 2>::Step(),
                                          nn::ShapeOf(kSecond, 1));
  constexpr auto kMotor =
      nn::PlacedStep(nn::Spectrum<1000, 1000, 32>::Step(), nn::ShapeOf(1000, 3));
  constexpr auto kMotion = nn::PlacedStep(nn::Stats::Step(), nn::ShapeOf(1000, 3));
  static_assert(kSpeech.input.size() + kSpeech.scratch <= kMaxFloats);
  static_assert(kSpeech.output == nn::Shape{49, 40, 1});
  MeasureFeatures("`mel`, 16 kHz to 49 x 40", kSpeech);
  MeasureFeatures("`spectrum`, three axes at 1 kHz to 32 bands", kMotor);
  MeasureFeatures("`stats`, three axes at 1 kHz", kMotion);
}

}  // namespace
}  // namespace sotto

int main(int, char**) {
  if (!sotto::MeasureAll()) return 1;
  sotto::MeasureAllFeatures();
  return 0;
}
