#include "sim/evaluate.h"

#include <algorithm>
#include <atomic>

#include "base/parallel.h"

namespace sotto::server {
namespace {

constexpr size_t kSamplesPerTask = 500;

// Of a single output its sign tells which of two classes.
uint32_t PredictedClass(Span<const float> outputs) {
  if (outputs.size() == 1) return outputs[0] > 0 ? 1 : 0;
  return static_cast<uint32_t>(std::max_element(outputs.begin(), outputs.end()) - outputs.begin());
}

size_t CountCorrect(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                    size_t first, size_t last) {
  std::vector<float> features(model.inputs);
  std::vector<float> scratch(model.predict_floats(model));
  std::vector<float> outputs(model.outputs);
  size_t correct = 0;
  for (size_t i = first; i < last; ++i) {
    data.CopyFeatures(i, {features.data(), features.size()});
    model.predict(model, parameters, {features.data(), features.size()},
                  {scratch.data(), scratch.size()}, {outputs.data(), outputs.size()});
    if (PredictedClass({outputs.data(), outputs.size()}) == data.Label(i)) ++correct;
  }
  return correct;
}

}  // namespace

double Accuracy(const ModelInfo& model, Span<const float> parameters, const Dataset& data,
                int threads) {
  if (data.size() == 0) return 0;
  std::atomic<size_t> correct{0};
  const size_t tasks = (data.size() + kSamplesPerTask - 1) / kSamplesPerTask;
  ParallelFor(threads, tasks, [&](size_t task, int) {
    const size_t first = task * kSamplesPerTask;
    const size_t last = std::min(first + kSamplesPerTask, data.size());
    correct += CountCorrect(model, parameters, data, first, last);
  });
  return static_cast<double>(correct) / static_cast<double>(data.size());
}

}  // namespace sotto::server
