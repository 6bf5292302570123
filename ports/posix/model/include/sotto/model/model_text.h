// What people read of a model: its C++ type, its work, the kinds of layers. Part of
// sotto::model_file. Pure functions, safe in any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sotto/model_info.h"

namespace sotto::posix {

// The net's C++ type: `sotto::nn::Sequential<...>`. Frozen layers name their weights
// kFrozenWeights.
std::string NetText(const ModelInfo& model);

// The namespace of the model's constants in a header: model_softmax_64_10 for softmax-64-10.
std::string ModelNamespace(const std::string& name);

// The model as a C++ header's lines, in ModelNamespace(): `using Net = sotto::nn::Sequential<...>`
// and a ModelInfo of the same digest. Weights of frozen layers are declared, not defined.
std::string CppText(const ModelInfo& model);

// The model as a header for C, for sotto_c.h: its sizes as constants, and the function that names
// the model, which a C++ file with SOTTO_DEFINE_MODELS defines.
//   batch_size  samples in the largest mini-batch, for which the workspace is counted
std::string CText(const ModelInfo& model, uint32_t batch_size);

// Whether the model says what its samples are: names or units of features, or their kind.
bool DescribesSamples(const ModelInfo& model);

// `input` of a model file: [features], [length, channels] or [height, width, channels]; of tokens
// [length].
std::vector<uint32_t> InputAxes(const ModelInfo& model);

// How many layers, from the first one, a model file calls frozen.
size_t FrozenLayers(const ModelInfo& model);

// How many layers, up to the last one, a model file calls personal: the first of them has
// parameters.
size_t PersonalLayers(const ModelInfo& model);

// As in a model file: "softmax", "one-vs-all" or "mean-squared-error".
const char* LossName(const nn::LossPlan& loss);
// "class", "vector" or "input".
const char* TargetName(const nn::LossPlan& loss);

// ModelDigest() in hexadecimal. Throws std::runtime_error if SHA-256 fails.
std::string ModelDigestHex(const ModelInfo& model);

// How a log calls a model: "softmax-784-10 (digest 6a2c01f9)". Two models of one name can differ,
// so the first digits of the digest are beside it.
std::string DescribeModel(const ModelInfo& model);

// The same for a model of which only the digest is known: with the name of the SDK's model that has
// it, if one has.
//   digest  [kSha256Size]
std::string DescribeModelOf(ByteSpan digest);

// Multiply-accumulates of one sample.
struct Work {
  uint64_t forward = 0;
  uint64_t training = 0;  // forward, the gradients, and the deltas that they need
};
Work MultiplyAccumulates(const ModelInfo& model);

// Bytes on a device.
struct DeviceMemory {
  size_t vectors = 0;      // the round's model and the update
  size_t workspace = 0;    // ClientWorkspaceBytes<Net, batch_size>()
  size_t velocity = 0;     // more, for jobs with momentum
  size_t gradient = 0;     // more, for jobs with the gradient clip of ModelInfo::gradient_for
  size_t constants = 0;    // of frozen layers, in flash
  size_t record = 0;       // of personal layers, in the device's store
  size_t preparation = 0;  // numbers of steps that prepare samples, in flash
};
DeviceMemory MemoryOnDevice(const ModelInfo& model, uint32_t batch_size);

// All kinds of layers, then all kinds of steps, and their keys: two Markdown tables.
std::string KindsTables();

}  // namespace sotto::posix
