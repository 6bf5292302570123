// The functions of ModelInfo, for MakeModelInfo() only. Part of sotto/nn.
//
// Each UseX() names the functions that one kind of nets needs, so a firmware links no others.
#pragma once

#include "sotto/model_info.h"
#include "sotto/personal.h"

namespace sotto::nn::internal {

extern const PersonalFunctions kPersonalFunctions;

// Softmax regression on one Dense layer, without a gradient vector: it first computes the output
// errors of the whole batch, then applies one rank-1 update a sample. So it reads every sample
// twice.
Status UpdateSoftmaxDigest(const ModelInfo& model, Sha256* hash);
size_t SoftmaxTrainingFloats(const ModelInfo& model, uint32_t batch_size);
size_t SoftmaxPredictFloats(const ModelInfo& model);
void SoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                    Span<const float> features, Span<float> scratch, Span<float> scores);

// Any net, by its plan.
Status UpdateNetDigest(const ModelInfo& model, Sha256* hash);
size_t NetTrainingFloats(const ModelInfo& model, uint32_t batch_size);
Status NetTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                     const WorkingParameters& working, Span<float> scratch, float* loss);
size_t NetPredictFloats(const ModelInfo& model);
void NetPredict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                Span<float> scratch, Span<float> scores);

// In float32.
Status FloatBegin(Span<const float> base, const WorkingParameters& working);
void FloatEnd(Span<const float> base, const WorkingParameters& working);
Status FloatProject(Span<const float> base, float radius, const WorkingParameters& working,
                    bool* was_outside);
Status FloatTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                       const WorkingParameters& working, Span<float> scratch, float* loss);

// In fixed point.
Status FixedBegin(Span<const float> base, const WorkingParameters& working);
void FixedEnd(Span<const float> base, const WorkingParameters& working);
Status FixedProject(Span<const float> base, float radius, const WorkingParameters& working,
                    bool* was_outside);
Status FixedTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                       const WorkingParameters& working, Span<float> scratch, float* loss);
Status FixedNetTrainBatch(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                          const WorkingParameters& working, Span<float> scratch, float* loss);
size_t FixedNetPredictFloats(const ModelInfo& model);
void FixedNetPredict(const ModelInfo& model, Span<const float> parameters,
                     Span<const float> features, Span<float> scratch, Span<float> scores);

// For models that prepare samples, or whose classes have names.
Status UpdatePreparedDigest(const ModelInfo& model, Sha256* hash);
// For models whose samples are described: see ModelDescription.
Status UpdateDescribedDigest(const ModelInfo& model, Sha256* hash);
// For models with personal layers, whatever else they have.
Status UpdatePersonalDigest(const ModelInfo& model, Sha256* hash);
// InitialWeights() of the personal layers alone.
Status DrawPersonal(const ModelInfo& model, const Key& key, Span<float> values);
size_t PreparedSoftmaxPredictFloats(const ModelInfo& model);
void PreparedSoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                            Span<const float> features, Span<float> scratch, Span<float> scores);

// A batch whose samples are prepared as they are read. The source ends with the object.
struct PreparedSamples {
  const ModelInfo& model;
  const Batch& batch;
};
SampleSource SourceOf(PreparedSamples* samples);

// train_batch on prepared samples.
template <auto train_batch>
Status TrainPrepared(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                     const WorkingParameters& working, Span<float> scratch, float* loss) {
  PreparedSamples samples = {model, batch};
  const SampleSource source = SourceOf(&samples);
  return train_batch(model, {&source, batch.indices}, step, working, scratch, loss);
}

constexpr void UseNet(ModelInfo* model) {
  model->update_digest = UpdateNetDigest;
  model->begin_training = FloatBegin;
  model->end_training = FloatEnd;
  model->project = FloatProject;
  model->training_floats = NetTrainingFloats;
  model->train_batch = NetTrainBatch;
  model->predict_floats = NetPredictFloats;
  model->predict = NetPredict;
}

constexpr void UseSoftmaxRegression(ModelInfo* model) {
  model->update_digest = UpdateSoftmaxDigest;
  model->begin_training = FloatBegin;
  model->end_training = FloatEnd;
  model->project = FloatProject;
  model->training_floats = SoftmaxTrainingFloats;
  model->train_batch = FloatTrainBatch;
  model->predict_floats = SoftmaxPredictFloats;
  model->predict = SoftmaxPredict;
  model->gradient_for = GradientClipOf::kBatch;
}

constexpr void UseFixedNet(ModelInfo* model) {
  model->update_digest = UpdateNetDigest;
  model->begin_training = FixedBegin;
  model->end_training = FixedEnd;
  model->project = FixedProject;
  model->training_floats = NetTrainingFloats;
  model->train_batch = FixedNetTrainBatch;
  model->predict_floats = FixedNetPredictFloats;
  model->predict = FixedNetPredict;
  model->has_gradient_options = false;
}

constexpr void UseFixedSoftmaxRegression(ModelInfo* model) {
  UseSoftmaxRegression(model);
  model->begin_training = FixedBegin;
  model->end_training = FixedEnd;
  model->project = FixedProject;
  model->train_batch = FixedTrainBatch;
  model->has_momentum = false;
  model->has_gradient_options = false;
}

// After the functions of its net. `parameters` does not count the personal ones.
constexpr void UsePersonal(uint32_t personal, ModelInfo* model) {
  model->personal = personal;
  model->personal_functions = &kPersonalFunctions;
  model->update_digest = UpdatePersonalDigest;
}

template <void (*use)(ModelInfo*)>
constexpr ModelInfo FunctionsOf() {
  ModelInfo model;
  use(&model);
  return model;
}

// The functions that `use` gives, for a model that prepares samples. The functions of nets prepare
// what they predict in the net's first tensor.
template <void (*use)(ModelInfo*)>
constexpr void UsePrepared(ModelInfo* model) {
  use(model);
  model->update_digest = UpdatePreparedDigest;
  model->train_batch = TrainPrepared<FunctionsOf<use>().train_batch>;
  if constexpr (FunctionsOf<use>().predict == SoftmaxPredict) {
    model->predict_floats = PreparedSoftmaxPredictFloats;
    model->predict = PreparedSoftmaxPredict;
  }
}

}  // namespace sotto::nn::internal
