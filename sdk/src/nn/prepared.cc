// Functions of ModelInfo for models that prepare samples.
#include "base/exact_arithmetic.h"
#include "nn/kernels.h"
#include "sotto/bytes.h"
#include "sotto/nn.h"

namespace sotto::nn::internal {
namespace {

// The order of samples takes the streams below this one of the same key (KeyedPermutation).
constexpr uint32_t kFirstStream = 0x80000000;
constexpr size_t kWords = kRandomWords * kMaxRandomSteps;
static_assert(4 * kWords == kChaChaBlockSize, "a sample's random words are one block");

// The net's input has memory for the sample that is read: FirstTensorSize().
Span<float> SampleIn(const PreparedSamples& samples, Span<float> prepared) {
  return {prepared.data(), samples.model.inputs};
}

Status PrepareSample(const PreparedSamples& samples, uint32_t index, float* memory) {
  const ModelInfo& model = samples.model;
  const Batch& batch = samples.batch;
  if (batch.key == nullptr || CountRandom(model.preparation) == 0) {
    Prepare(model.preparation, memory);
    return Status::kOk;
  }
  uint8_t block[kChaChaBlockSize];
  const uint32_t stream = kFirstStream | batch.epoch;
  if (Status s = ChaCha20Keystream(*batch.key, stream, index, block); s != Status::kOk) return s;
  uint32_t words[kWords];
  for (size_t i = 0; i < kWords; ++i) words[i] = LoadU32Le(block + 4 * i);
  PrepareForTraining(model.preparation, memory, words);
  return Status::kOk;
}

Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
  const auto& samples = *static_cast<const PreparedSamples*>(context);
  const SampleSource& raw = *samples.batch.source;
  const Span<float> sample = SampleIn(samples, features);
  if (Status s = raw.read(raw.context, index, sample, label); s != Status::kOk) return s;
  return PrepareSample(samples, index, sample.data());
}

Status ReadVector(void* context, uint32_t index, Span<float> features, Span<float> target) {
  const auto& samples = *static_cast<const PreparedSamples*>(context);
  const SampleSource& raw = *samples.batch.source;
  const Span<float> sample = SampleIn(samples, features);
  if (Status s = raw.read_vector(raw.context, index, sample, target); s != Status::kOk) return s;
  return PrepareSample(samples, index, sample.data());
}

}  // namespace

SampleSource SourceOf(PreparedSamples* samples) {
  return {samples->batch.source->count, Read, samples, ReadVector};
}

size_t PreparedSoftmaxPredictFloats(const ModelInfo& model) {
  return FirstTensorSize(model.layers[0]);
}

void PreparedSoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                            Span<const float> features, Span<float> scratch, Span<float> scores) {
  // The features may already lie there.
  const Span<float> prepared = scratch.first(model.PreparedShape().size());
  if (features.data() != prepared.data()) {
    Copy(features.data(), features.size(), prepared.data());
  }
  Prepare(model.preparation, prepared.data());
  SoftmaxPredict(model, parameters, prepared, {}, scores);
}

}  // namespace sotto::nn::internal
