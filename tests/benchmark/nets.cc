// What one sample of a net costs a host, in time: a step of SGD, or a prediction, of a batch of
// samples from memory, by blocks (sotto/blocks.h). nets.sh compares with PyTorch. An item is a
// sample.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <numeric>
#include <string>
#include <vector>

#include "sotto/blocks.h"
#include "sotto/models.h"

namespace sotto {
namespace {

// nets.py has the same nets. The last hidden state of an LSTM decides.
using LstmNet =
    nn::Sequential<nn::Input<40, 8>, nn::Lstm<32, nn::LstmOutput::kLast>, nn::Dense<32, 10>>;
template <uint32_t first, uint32_t second>
using Mlp = nn::Sequential<nn::Dense<784, first>, nn::Relu, nn::Dense<first, second>, nn::Relu,
                           nn::Dense<second, 10>>;
using Mlp1 = Mlp<800, 448>;    // 991,338 parameters
using Mlp5 = Mlp<2048, 1632>;  // 4,967,978 parameters

template <class Net>
constexpr ModelInfo kModel = MakeModelInfo<Net>("benchmark");

// In [0, 1), by a linear congruential generator.
float Random() {
  static uint32_t random = 1;
  random = 1664525u * random + 1013904223u;
  return static_cast<float>(random >> 8) * 0x1p-24f;
}

std::vector<float> RandomFloats(size_t count, float offset, float scale) {
  std::vector<float> values(count);
  for (float& value : values) value = (Random() - offset) * scale;
  return values;
}

Status ReadSample(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const float* sample = static_cast<const float*>(context) + index * features.size();
  for (size_t i = 0; i < features.size(); ++i) features[i] = sample[i];
  *label = index % 10;
  return Status::kOk;
}

void CountSamples(benchmark::State& state) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}

void Train(benchmark::State& state, const ModelInfo& device_model) {
  const ModelInfo model = WithBlocks(device_model);
  const auto batch = static_cast<uint32_t>(state.range(0));
  std::vector<float> samples = RandomFloats(size_t{batch} * model.inputs, 0, 1);
  std::vector<float> parameters = RandomFloats(model.parameters, 0.5f, 0.125f);
  std::vector<float> scratch(model.training_floats(model, batch));
  std::vector<uint32_t> indices(batch);
  std::iota(indices.begin(), indices.end(), 0u);
  const SampleSource source{batch, ReadSample, samples.data()};
  SgdStep step;
  step.learning_rate = 0.01f;
  float loss = 0.0f;
  for (auto _ : state) {
    const Status status = model.train_batch(model, {&source, {indices.data(), indices.size()}},
                                            step, {{parameters.data(), parameters.size()}},
                                            {scratch.data(), scratch.size()}, &loss);
    if (status != Status::kOk) return state.SkipWithError(StatusName(status));
  }
  CountSamples(state);
}

void Forward(benchmark::State& state, const ModelInfo& model) {
  const auto batch = static_cast<size_t>(state.range(0));
  const std::vector<float> samples = RandomFloats(batch * model.inputs, 0, 1);
  const std::vector<float> parameters = RandomFloats(model.parameters, 0.5f, 0.125f);
  const size_t most = BlockPredictor::Samples(model, batch);
  std::vector<float> scratch(BlockPredictor::ScratchFloats(model, most));
  BlockPredictor predictor(model, {parameters.data(), parameters.size()}, most,
                           {scratch.data(), scratch.size()});
  for (auto _ : state) {
    for (size_t first = 0; first < batch; first += most) {
      const size_t count = std::min(most, batch - first);
      for (size_t s = 0; s < count; ++s) {
        std::copy_n(&samples[(first + s) * model.inputs], model.inputs,
                    predictor.features(s).begin());
      }
      predictor.Run(count);
      float output = predictor.outputs(0)[0];
      benchmark::DoNotOptimize(output);
    }
  }
  CountSamples(state);
}

BENCHMARK_CAPTURE(Train, lenet, kModel<LeNet>)->Name("train lenet")->Arg(10)->Arg(64)->Arg(500);
BENCHMARK_CAPTURE(Train, lstm, kModel<LstmNet>)->Name("train lstm")->Arg(10)->Arg(64)->Arg(500);
BENCHMARK_CAPTURE(Train, mlp1, kModel<Mlp1>)->Name("train mlp-1m")->Arg(10)->Arg(64)->Arg(500);
BENCHMARK_CAPTURE(Train, mlp5, kModel<Mlp5>)->Name("train mlp-5m")->Arg(10)->Arg(64)->Arg(500);
BENCHMARK_CAPTURE(Forward, lenet, kModel<LeNet>)->Name("forward lenet")->Arg(500);
BENCHMARK_CAPTURE(Forward, lstm, kModel<LstmNet>)->Name("forward lstm")->Arg(500);
BENCHMARK_CAPTURE(Forward, mlp1, kModel<Mlp1>)->Name("forward mlp-1m")->Arg(500);
BENCHMARK_CAPTURE(Forward, mlp5, kModel<Mlp5>)->Name("forward mlp-5m")->Arg(500);

}  // namespace
}  // namespace sotto
