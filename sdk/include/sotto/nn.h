// Layers and models as types: their dimensions are compile-time constants. Part of sotto/nn.
//
//   using Net = sotto::nn::Sequential<sotto::nn::Dense<784, 10>>;
//
// A net ends in softmax and cross-entropy, so its last layer has one output a class. Parameters lie
// in layer order, weights row-major [outputs][inputs], then bias [outputs].
#ifndef SOTTO_NN_H_
#define SOTTO_NN_H_

#include <cstddef>
#include <cstdint>

#include "sotto/model_info.h"

namespace sotto {
namespace nn {

// Fully connected: y = W x + b.
template <uint32_t inputs, uint32_t outputs>
struct Dense {
  static_assert(inputs >= 1 && outputs >= 1, "a layer has at least one input and one output");
  static constexpr uint32_t kInputs = inputs;
  static constexpr uint32_t kOutputs = outputs;
  static constexpr uint32_t kParameters = inputs * outputs + outputs;
  static constexpr LayerInfo kInfo = {LayerKind::kDense, inputs, outputs};
};

// The arithmetic that trains a net: see FixedPoint.
enum class Arithmetic : uint8_t { kFloat32, kFixedPoint };

// Layers one after the other. Today a net is a single Dense layer: softmax regression.
template <class Layer>
struct Sequential {
  static constexpr uint32_t kInputs = Layer::kInputs;
  static constexpr uint32_t kClasses = Layer::kOutputs;
  static constexpr uint32_t kParameters = Layer::kParameters;
  static constexpr Arithmetic kArithmetic = Arithmetic::kFloat32;
  static constexpr LayerInfo kLayers[] = {Layer::kInfo};
  static constexpr TensorInfo kTensors[] = {{Layer::kOutputs, Layer::kInputs},
                                            {Layer::kOutputs, 1}};
};

// The net `Net`, trained in fixed point. For cores without a floating-point unit: they spend a
// ninth of the instructions that float32 takes. Parameters are float32 before and after a training,
// so models, updates and digests are the same as for Net, and boards of both kinds can serve one
// job.
//
//   using Net = sotto::nn::FixedPoint<sotto::nn::Sequential<sotto::nn::Dense<64, 10>>>;
//
// During a training a parameter is an integer of 31 bits in units of 2^-24. It saturates at 64 in
// magnitude; a base of 64 or more in magnitude is refused. Features beyond 8 in magnitude count as
// 8. A step rounds each parameter to the nearest, once a sample: after n samples it differs by at
// most n * 3e-8 from the result of the same steps without rounding. sdk/TRAINING.md gives the
// reasons for these formats and against stochastic rounding. The bits agree on every CPU.
template <class Net>
struct FixedPoint : Net {
  static_assert(Net::kInputs <= 8192, "sums of products fit into 64 bits");
  static constexpr Arithmetic kArithmetic = Arithmetic::kFixedPoint;
};

// The functions of ModelInfo, for MakeModelInfo() only. It names the functions that the net's type
// needs, so a firmware links no others.
namespace internal {

// Softmax regression on one Dense layer, without a gradient vector: it first computes the output
// errors of the whole batch, then applies one rank-1 update a sample. So it reads every sample
// twice.
size_t SoftmaxTrainingFloats(const ModelInfo& model, uint32_t batch_size);
void SoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                    Span<const float> features, Span<float> scores);

// In float32.
Status FloatBegin(Span<const float> base, WorkingParameters working);
void FloatEnd(Span<const float> base, WorkingParameters working);
Status FloatProject(Span<const float> base, float radius, WorkingParameters working,
                    bool* was_outside);
Status FloatTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                       float weight_decay, WorkingParameters working, Span<float> scratch,
                       float* loss);

// In fixed point.
Status FixedBegin(Span<const float> base, WorkingParameters working);
void FixedEnd(Span<const float> base, WorkingParameters working);
Status FixedProject(Span<const float> base, float radius, WorkingParameters working,
                    bool* was_outside);
Status FixedTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                       float weight_decay, WorkingParameters working, Span<float> scratch,
                       float* loss);

}  // namespace internal
}  // namespace nn

// The ModelInfo of a net, for a model of your own:
//   constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("my-model");
template <class Net>
constexpr ModelInfo MakeModelInfo(const char* name) {
  ModelInfo model = {name,
                     Net::kLayers,
                     Net::kTensors,
                     Net::kInputs,
                     Net::kClasses,
                     Net::kParameters,
                     nn::internal::FloatBegin,
                     nn::internal::FloatEnd,
                     nn::internal::FloatProject,
                     nn::internal::SoftmaxTrainingFloats,
                     nn::internal::FloatTrainBatch,
                     nn::internal::SoftmaxPredict};
  if constexpr (Net::kArithmetic == nn::Arithmetic::kFixedPoint) {
    model.begin_training = nn::internal::FixedBegin;
    model.end_training = nn::internal::FixedEnd;
    model.project = nn::internal::FixedProject;
    model.train_batch = nn::internal::FixedTrainBatch;
  }
  return model;
}

}  // namespace sotto

#endif  // SOTTO_NN_H_
