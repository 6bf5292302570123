// Fuzzes the readers of model files and of models as bytes, which devices get from a server. Any
// input is either a model that keeps its limits, that has one bundle, and whose small nets predict
// without touching what is not theirs, or it is refused: of a file with its line.
//
// Input: the file's text, or a bundle.
#include <stdexcept>
#include <string>
#include <vector>

#include "fuzz/input.h"
#include "sotto/model/layer_kinds.h"
#include "sotto/model/model_bundle.h"
#include "sotto/model/model_text.h"
#include "sotto/net_memory.h"

namespace sotto::fuzz {
namespace {

constexpr uint64_t kMaxWork = 1 << 16;

void CheckPlan(const ModelInfo& model) {
  const size_t memory = nn::NetMemory(model.layers, 0);
  uint32_t reaches = model.inputs;
  uint64_t parameters = 0;
  for (const nn::LayerPlan& layer : model.layers) {
    Require(layer.info.input.size() == reaches, "layers fit each other");
    reaches = layer.info.output.size();
    Require(reaches >= 1 && reaches <= posix::kMaxTensor, "tensors keep their limit");
    Require(layer.output_at + reaches <= memory && layer.branch_at < memory,
            "tensors lie in the net's memory");
    parameters += layer.trained();
  }
  Require(reaches == model.outputs, "the last layer gives the outputs");
  Require(parameters == model.parameters && parameters <= kMaxParameters, "parameters add up");
}

void Predict(const ModelInfo& model) {
  const size_t scratch = model.predict_floats(model);
  const uint64_t work = posix::MultiplyAccumulates(model).training;
  if (work + scratch + model.inputs + model.parameters > kMaxWork) return;
  std::vector<float> prepared(nn::PreparationFloats(model.preparation, model.SampleShape()), 1.0F);
  const std::vector<uint32_t> random(nn::kRandomWords * nn::kMaxRandomSteps, 0xffffffff);
  nn::PrepareForTraining(model.preparation, prepared.data(), {random.data(), random.size()});
  const std::vector<float> features(model.inputs, 1.0F);
  std::vector<float> parameters(model.parameters, 0.01F);
  std::vector<float> memory(scratch);
  std::vector<float> outputs(model.outputs);
  model.predict(model, {parameters.data(), parameters.size()}, {features.data(), features.size()},
                {memory.data(), memory.size()}, {outputs.data(), outputs.size()});
}

void CheckModel(const ModelInfo& model) {
  CheckPlan(model);
  Require(!posix::CppText(model).empty(), "each model is a C++ type");
  const std::vector<uint8_t> bundle = posix::BundleOf(model);
  const posix::SharedModel again = posix::ParseBundle({bundle.data(), bundle.size()});
  Require(posix::NetText(*again) == posix::NetText(model), "bundles keep a model");
  Require(posix::BundleOf(*again) == bundle, "a model has one bundle");
  Predict(model);
}

}  // namespace
}  // namespace sotto::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sotto;
  try {
    const posix::SharedModel model =
        posix::ParseModel("fuzz.toml", std::string(reinterpret_cast<const char*>(data), size));
    fuzz::CheckModel(*model);
  } catch (const std::invalid_argument& error) {
    fuzz::Require(std::string(error.what()).find("fuzz.toml:") == 0,
                  "a refusal names the file and the line");
  }
  try {
    fuzz::CheckModel(*posix::ParseBundle({data, size}));
  } catch (const std::invalid_argument& error) {
    fuzz::Require(std::string(error.what()).find("description:") == 0, "a refusal has a subject");
  }
  return 0;
}
