// What one training sample of a net costs this machine, in time: one step of SGD on ten samples,
// from memory. training.sh compares with PyTorch. An item is a sample.
#include <array>
#include <benchmark/benchmark.h>
#include <vector>

#include "sotto/models.h"

namespace sotto {
namespace {

constexpr uint32_t kBatchSize = 10;

// The last hidden state of an LSTM decides: training.py has the same net.
using LstmNet =
    nn::Sequential<nn::Input<40, 8>, nn::Lstm<32, nn::LstmOutput::kLast>, nn::Dense<32, 10>>;

// In [0, 1), by a linear congruential generator.
float Random() {
  static uint32_t random = 1;
  random = 1664525u * random + 1013904223u;
  return static_cast<float>(random >> 8) * 0x1p-24f;
}

Status ReadSample(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const float* sample = static_cast<const float*>(context) + index * features.size();
  for (size_t i = 0; i < features.size(); ++i) features[i] = sample[i];
  *label = index % 10;
  return Status::kOk;
}

template <class Net>
void TrainBatch(benchmark::State& state) {
  static constexpr ModelInfo kModel = MakeModelInfo<Net>("benchmark");
  std::vector<float> samples(size_t{kBatchSize} * kModel.inputs);
  for (float& value : samples) value = Random();
  std::vector<float> parameters(kModel.parameters);
  for (float& value : parameters) value = (Random() - 0.5f) / 8;
  std::vector<float> scratch(kModel.training_floats(kModel, kBatchSize));
  const SampleSource source{kBatchSize, ReadSample, samples.data()};
  const std::array<uint32_t, kBatchSize> indices = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  SgdStep step;
  step.learning_rate = 0.01f;
  float loss = 0.0f;
  for (auto _ : state) {
    const Status status = kModel.train_batch(kModel, {&source, {indices.data(), indices.size()}},
                                             step, {{parameters.data(), parameters.size()}},
                                             {scratch.data(), scratch.size()}, &loss);
    if (status != Status::kOk) return state.SkipWithError(StatusName(status));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBatchSize);
}

BENCHMARK_TEMPLATE(TrainBatch, LeNet)->Name("train, lenet");
BENCHMARK_TEMPLATE(TrainBatch, LstmNet)->Name("train, lstm");

}  // namespace
}  // namespace sotto
