// Instructions that a board spends on one training sample, in float32 and in fixed point.
//
// To be run by `qemu-system-arm -icount shift=0`, where the counter counts instructions;
// training_table.sh does. Prints "NAME: N", N in instructions a sample, for each model; ends with 1
// if one fails. The counts include the whole training: the order of the samples, reading them
// (bytes, by a table of 256 floats), the steps and the clipping after each step.
#include "sotto/conformance/line.h"
#include "sotto/emulated/counter.h"
#include "sotto/emulated/semihosting.h"
#include "sotto/models.h"
#include "sotto/train.h"

namespace sotto {
namespace {

using conformance::Line;

constexpr uint32_t kSamples = 50;
constexpr uint32_t kStored = 10;  // sample i is stored as i % kStored
constexpr uint32_t kBatchSize = 10;
constexpr uint32_t kEpochs = 2;

using Mlp = nn::Sequential<nn::Dense<196, 32>, nn::Relu, nn::Dense<32, 10>>;
constexpr ModelInfo kModels[] = {
    MakeModelInfo<Softmax784x10>("softmax-784-10"),
    MakeModelInfo<Softmax64x10>("softmax-64-10"),
    MakeModelInfo<FixedSoftmax784x10>("softmax-784-10-q"),
    MakeModelInfo<FixedSoftmax64x10>("softmax-64-10-q"),
#if !defined(SOTTO_SOFTMAX_ALONE)
    MakeModelInfo<Mlp>("mlp-196-32-10"),
    MakeModelInfo<nn::FixedPoint<Mlp>>("mlp-196-32-10-q"),
    MakeModelInfo<SmallCnn>("small-cnn"),
    MakeModelInfo<nn::FixedPoint<SmallCnn>>("small-cnn-q"),
#endif
};

constexpr uint32_t kMaxInputs = 784;
constexpr uint32_t kMaxParameters = SmallCnn::kParameters;
constexpr size_t MaxFloats() {
  size_t most = 0;
  for (const ModelInfo& model : kModels) {
    const size_t floats = TrainingMemory(model.layers, model.loss, kBatchSize);
    most = floats > most ? floats : most;
  }
  return most;
}

template <class T, size_t n>
struct Table {
  T values[n];
};

// Made-up contents, by a linear congruential generator, so that they lie in flash.
template <class T, size_t n>
constexpr Table<T, n> MakeTable(T (*entry)(uint32_t random)) {
  Table<T, n> table{};
  uint32_t random = 1;
  for (T& value : table.values) {
    random = 1664525u * random + 1013904223u;
    value = entry(random);
  }
  return table;
}

constexpr auto kPixels = MakeTable<uint8_t, kStored * kMaxInputs>(
    [](uint32_t random) { return static_cast<uint8_t>(random >> 24); });
// A model whose parameters lie in [-1/32, 1/32).
constexpr auto kBase = MakeTable<float, kMaxParameters>(
    [](uint32_t random) { return static_cast<float>(static_cast<int32_t>(random)) * 0x1p-36f; });

constexpr Table<float, 256> MakeValues() {
  Table<float, 256> table{};
  for (int i = 0; i < 256; ++i) table.values[i] = static_cast<float>(i) * (1 / 255.0f);
  return table;
}
constexpr Table<float, 256> kValueOf = MakeValues();

float g_parameters[kMaxParameters];
float g_scratch[MaxFloats()];
uint32_t g_indices[kBatchSize];

Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  const uint8_t* pixels = kPixels.values + index % kStored * kMaxInputs;
  for (size_t i = 0; i < features.size(); ++i) features[i] = kValueOf.values[pixels[i]];
  *label = index % kStored;
  return Status::kOk;
}

Status Train(const ModelInfo& model) {
  TrainingOptions options;
  options.local_epochs = kEpochs;
  options.batch_size = kBatchSize;
  LocalTrainer trainer;
  const SampleSource source{kSamples, ReadSample, nullptr};
  if (Status s = trainer.Begin(model, options, source, Key(), {kBase.values, model.parameters},
                               {{g_parameters, model.parameters}}, g_scratch, g_indices);
      s != Status::kOk) {
    return s;
  }
  for (bool done = false; !done;) {
    if (Status s = trainer.Step(&done); s != Status::kOk) return s;
  }
  return Status::kOk;
}

bool Measure(const ModelInfo& model) {
  const uint32_t start = emulated::Ticks();
  const Status status = Train(model);
  const uint64_t instructions =
      uint64_t{emulated::Ticks() - start} * emulated::NanosecondsPerTick();
  Line line;
  line << model.name << ": ";
  if (status == Status::kOk) {
    line << instructions / (kSamples * kEpochs) << "\n";
  } else {
    line << StatusName(status) << "\n";
  }
  emulated::Print(line.text());
  return status == Status::kOk;
}

}  // namespace
}  // namespace sotto

int main(int, char**) {
  bool ok = true;
  for (const sotto::ModelInfo& model : sotto::kModels) ok = ok && sotto::Measure(model);
  return ok ? 0 : 1;
}
