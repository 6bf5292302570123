#include "nn/kernels.h"
#include "sotto/nn.h"
#include "sotto/num.h"

namespace sotto {
namespace nn {
namespace {

// Turns scores into softmax probabilities minus the one-hot label, the gradient of cross-entropy
// with respect to the scores. Returns the loss.
float SoftmaxErrors(Span<float> scores, uint32_t label) {
  float largest = scores[0];
  for (const float score : scores) largest = score > largest ? score : largest;
  const float label_score = scores[label] - largest;
  float sum = 0.0f;
  for (float& score : scores) {
    score = Exp(score - largest);
    sum += score;
  }
  for (float& score : scores) score /= sum;
  scores[label] -= 1.0f;
  return Log(sum) - label_score;
}

// scratch = [inputs] features of the sample at hand, then [batch][classes] errors.
Status BatchErrors(const ModelInfo& model, const Batch& batch, Span<const float> parameters,
                   Span<float> features, Span<float> errors, float* loss) {
  float sum = 0.0f;
  for (size_t s = 0; s < batch.indices.size(); ++s) {
    uint32_t label = 0;
    const SampleSource& source = *batch.source;
    if (Status st = source.read(source.context, batch.indices[s], features, &label);
        st != Status::kOk) {
      return st;
    }
    if (label >= model.classes) return Status::kOutOfRange;
    Span<float> scores = errors.subspan(s * model.classes, model.classes);
    SoftmaxPredict(model, parameters, features, scores);
    sum += SoftmaxErrors(scores, label);
  }
  *loss = sum / static_cast<float>(batch.indices.size());
  return Status::kOk;
}

}  // namespace

size_t SoftmaxTrainingFloats(const ModelInfo& model, uint32_t batch_size) {
  return model.inputs + static_cast<size_t>(batch_size) * model.classes;
}

void SoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                    Span<const float> features, Span<float> scores) {
  const float* bias = parameters.data() + static_cast<size_t>(model.inputs) * model.classes;
  DenseForward(parameters.data(), bias, features.data(), model.inputs, model.classes,
               scores.data());
}

Status SoftmaxTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                         float weight_decay, Span<float> parameters, Span<float> scratch,
                         float* loss) {
  const size_t batch_size = batch.indices.size();
  if (batch_size == 0) return Status::kInvalidArgument;
  if (scratch.size() < SoftmaxTrainingFloats(model, static_cast<uint32_t>(batch_size))) {
    return Status::kBufferTooSmall;
  }
  Span<float> features = scratch.first(model.inputs);
  Span<float> errors = scratch.subspan(model.inputs);
  if (Status s = BatchErrors(model, batch, parameters, features, errors, loss); s != Status::kOk) {
    return s;
  }
  if (weight_decay != 0.0f) {
    Scale(1.0f - learning_rate * weight_decay, parameters.size(), parameters.data());
  }
  const float rate = -learning_rate / static_cast<float>(batch_size);
  float* bias = parameters.data() + static_cast<size_t>(model.inputs) * model.classes;
  for (size_t s = 0; s < batch_size; ++s) {
    uint32_t label = 0;
    const SampleSource& source = *batch.source;
    if (Status st = source.read(source.context, batch.indices[s], features, &label);
        st != Status::kOk) {
      return st;
    }
    for (uint32_t o = 0; o < model.classes; ++o) {
      const float scale = rate * errors[s * model.classes + o];
      AddScaled(scale, features.data(), model.inputs,
                parameters.data() + static_cast<size_t>(o) * model.inputs);
      bias[o] += scale;
    }
  }
  return Status::kOk;
}

}  // namespace nn

Status ModelDigest(const ModelInfo& model, uint8_t (&digest)[kSha256Size]) {
  constexpr uint32_t kFormatVersion = 1;
  Sha256 hash;
  if (Status s = hash.UpdateU32(kFormatVersion); s != Status::kOk) return s;
  if (Status s = hash.UpdateU32(static_cast<uint32_t>(model.layers.size())); s != Status::kOk) {
    return s;
  }
  for (const nn::LayerInfo& layer : model.layers) {
    const uint32_t fields[] = {static_cast<uint32_t>(layer.kind), layer.inputs, layer.outputs};
    for (const uint32_t value : fields) {
      if (Status s = hash.UpdateU32(value); s != Status::kOk) return s;
    }
  }
  return hash.Finish(digest);
}

}  // namespace sotto
