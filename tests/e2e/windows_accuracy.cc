// usage: windows_accuracy MODEL LEAST
// Prints how many windows of another log a model gets right, a file of `sotto serve --model-out`
// for the net of examples/cortex_m/nets/windows.h. Exit status 1 if their share is below LEAST.
#define SOTTO_WINDOW_SEED 2
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include "nets/windows.h"

namespace sotto {
namespace {

std::vector<float> ReadModel(const char* path) {
  std::vector<float> parameters(kModel.parameters);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(parameters.data()),
            static_cast<std::streamsize>(sizeof(float) * parameters.size()));
  if (!file || file.peek() != EOF) parameters.clear();
  return parameters;
}

Span<float> SpanOf(std::vector<float>& v) { return {v.data(), v.size()}; }

bool IsRight(std::vector<float>& parameters, uint32_t index) {
  std::vector<float> features(kModel.inputs);
  std::vector<float> scratch(kModel.predict_floats(kModel));
  std::vector<float> scores(kModel.outputs);
  uint32_t label = 0;
  if (ReadWindow(nullptr, index, SpanOf(features), &label) != Status::kOk) return false;
  kModel.predict(kModel, SpanOf(parameters), SpanOf(features), SpanOf(scratch), SpanOf(scores));
  return std::max_element(scores.begin(), scores.end()) - scores.begin() == label;
}

int Run(const char* path, double least) {
  std::vector<float> parameters = ReadModel(path);
  if (parameters.empty()) {
    std::fprintf(stderr, "%s: not %u float32\n", path, kModel.parameters);
    return 2;
  }
  uint32_t right = 0;
  for (uint32_t i = 0; i < kLoggedWindows; ++i) right += IsRight(parameters, i) ? 1 : 0;
  std::printf("%u of %u windows are right\n", right, kLoggedWindows);
  return right >= least * kLoggedWindows ? 0 : 1;
}

}  // namespace
}  // namespace sotto

int main(int argc, char** argv) {
  if (argc == 3) return sotto::Run(argv[1], std::atof(argv[2]));
  std::fputs("usage: windows_accuracy MODEL LEAST\n", stderr);
  return 2;
}
