// Nets as types: their dimensions are compile-time constants. Part of sotto/nn.
//
//   using Net = sotto::nn::Sequential<sotto::nn::Dense<784, 10>>;
//   using LeNet = sotto::nn::Sequential<
//       sotto::nn::Input<28, 28, 1>,
//       sotto::nn::Conv2d<6, 5, 1, 2>, sotto::nn::Relu, sotto::nn::MaxPool2d<2>,
//       sotto::nn::Conv2d<16, 5>, sotto::nn::Relu, sotto::nn::MaxPool2d<2>,
//       sotto::nn::Flatten, sotto::nn::Dense<400, 120>, sotto::nn::Relu,
//       sotto::nn::Dense<120, 84>, sotto::nn::Relu, sotto::nn::Dense<84, 10>>;
//
// A net ends in softmax and cross-entropy, so its last layer has one output a class. Parameters lie
// in layer order: of each layer its weights, row-major, then its biases.
#ifndef SOTTO_NN_H_
#define SOTTO_NN_H_

#include <cstddef>
#include <cstdint>

#include "sotto/layers/average_pool1d.h"
#include "sotto/layers/average_pool2d.h"
#include "sotto/layers/conv1d.h"
#include "sotto/layers/conv2d.h"
#include "sotto/layers/dense.h"
#include "sotto/layers/depthwise_conv2d.h"
#include "sotto/layers/embedding.h"
#include "sotto/layers/flatten.h"
#include "sotto/layers/group_norm.h"
#include "sotto/layers/local_response_norm.h"
#include "sotto/layers/lstm.h"
#include "sotto/layers/max_pool1d.h"
#include "sotto/layers/max_pool2d.h"
#include "sotto/layers/relu.h"
#include "sotto/layers/sigmoid.h"
#include "sotto/layers/tanh.h"
#include "sotto/model_info.h"

namespace sotto {
namespace nn {

// The shape of a sample, as the first entry of a net. A net that begins with Dense needs none.
template <uint32_t height, uint32_t width, uint32_t channels>
struct Input {
  static_assert(height >= 1 && width >= 1 && channels >= 1, "a sample has at least one number");
  static constexpr Shape kShape = {height, width, channels};
};

// The arithmetic that trains a net: see FixedPoint.
enum class Arithmetic : uint8_t { kFloat32, kFixedPoint };

namespace internal {

// A compiler that stops here names, as template arguments, the layer that does not fit and the
// height, width and channels of what reaches it.
template <class Layer, uint32_t height, uint32_t width, uint32_t channels>
struct Takes {
  static_assert(Layer::Fits({height, width, channels}),
                "this layer does not fit the output of the layer before it: see the arguments of "
                "Takes<Layer, height, width, channels>");
  static constexpr LayerPlan kPlan = Layer::Plan({height, width, channels});
};

// The plans of layers, the first of which takes a tensor of that shape.
template <uint32_t height, uint32_t width, uint32_t channels, class Layer, class... Rest>
constexpr void AddPlans(LayerPlan* out) {
  *out = Takes<Layer, height, width, channels>::kPlan;
  if constexpr (sizeof...(Rest) > 0) {
    constexpr Shape next = Takes<Layer, height, width, channels>::kPlan.info.output;
    AddPlans<next.height, next.width, next.channels, Rest...>(out + 1);
  }
}

template <size_t layers>
struct Net {
  LayerPlan plan[layers] = {};
  TensorInfo tensors[4 * layers] = {};
  uint32_t tensor_count = 0;
  uint32_t parameters = 0;

  constexpr void AddTensor(uint32_t rows, uint32_t columns) {
    if (rows > 0 && columns > 0) tensors[tensor_count++] = {rows, columns};
  }
  constexpr void AddTensors(const LayerPlan& layer) {
    const uint32_t rows = layer.weights == 0 ? 0 : layer.weights / layer.fan_in;
    AddTensor(rows, layer.split);
    AddTensor(rows, layer.fan_in - layer.split);
    const uint32_t vectors = layer.split > 0 ? 2 : 1;
    for (uint32_t i = 0; i < vectors; ++i) AddTensor(layer.biases / vectors, 1);
  }
};

template <uint32_t height, uint32_t width, uint32_t channels, class... Layers>
constexpr Net<sizeof...(Layers)> MakeNet() {
  Net<sizeof...(Layers)> net;
  AddPlans<height, width, channels, Layers...>(net.plan);
  for (const LayerPlan& layer : net.plan) {
    net.parameters += layer.parameters();
    net.AddTensors(layer);
  }
  return net;
}

constexpr bool OnlyFirstTakesTokens(Span<const LayerPlan> plan) {
  for (const LayerPlan* layer = plan.begin() + 1; layer != plan.end(); ++layer) {
    if (layer->tokens > 0) return false;
  }
  return true;
}

// The members of every net.
template <uint32_t height, uint32_t width, uint32_t channels, class... Layers>
struct NetOf {
  static constexpr Net<sizeof...(Layers)> kNet = MakeNet<height, width, channels, Layers...>();
  static_assert(OnlyFirstTakesTokens(kNet.plan), "Embedding is the first layer of its net");
  static constexpr uint32_t kInputs = height * width * channels;
  // Above 0: a sample is tokens, whole numbers below it. A training refuses any other number.
  static constexpr uint32_t kTokens = kNet.plan[0].tokens;
  static constexpr uint32_t kClasses = kNet.plan[sizeof...(Layers) - 1].info.output.size();
  static constexpr uint32_t kParameters = kNet.parameters;
  static constexpr Arithmetic kArithmetic = Arithmetic::kFloat32;
  static constexpr Span<const LayerPlan> Plan() { return kNet.plan; }
  static constexpr Span<const TensorInfo> Tensors() { return {kNet.tensors, kNet.tensor_count}; }
  // Softmax regression has a training of its own, which needs less memory.
  static constexpr bool kIsSoftmaxRegression =
      sizeof...(Layers) == 1 && kNet.plan[0].info.kind == LayerKind::kDense;
};

}  // namespace internal

// Layers one after the other: Input first, or Dense.
template <class First, class... Rest>
struct Sequential;

template <uint32_t inputs, uint32_t outputs, class... Rest>
struct Sequential<Dense<inputs, outputs>, Rest...>
    : internal::NetOf<1, 1, inputs, Dense<inputs, outputs>, Rest...> {};

template <uint32_t height, uint32_t width, uint32_t channels, class... Rest>
struct Sequential<Input<height, width, channels>, Rest...>
    : internal::NetOf<height, width, channels, Rest...> {
  static_assert(sizeof...(Rest) > 0, "a net has at least one layer");
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
  static_assert(Net::kIsSoftmaxRegression, "fixed point trains a single Dense layer so far");
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
size_t SoftmaxPredictFloats(const ModelInfo& model);
void SoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                    Span<const float> features, Span<float> scratch, Span<float> scores);

// Any net, by its plan.
size_t NetTrainingFloats(const ModelInfo& model, uint32_t batch_size);
Status NetTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                     float weight_decay, WorkingParameters working, Span<float> scratch,
                     float* loss);
size_t NetPredictFloats(const ModelInfo& model);
void NetPredict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                Span<float> scratch, Span<float> scores);

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
                     Net::Plan(),
                     Net::Tensors(),
                     Net::kInputs,
                     Net::kClasses,
                     Net::kParameters,
                     nn::internal::FloatBegin,
                     nn::internal::FloatEnd,
                     nn::internal::FloatProject,
                     nullptr,
                     nullptr,
                     nullptr,
                     nullptr};
  if constexpr (Net::kIsSoftmaxRegression) {
    model.training_floats = nn::internal::SoftmaxTrainingFloats;
    model.train_batch = nn::internal::FloatTrainBatch;
    model.predict_floats = nn::internal::SoftmaxPredictFloats;
    model.predict = nn::internal::SoftmaxPredict;
  } else {
    model.training_floats = nn::internal::NetTrainingFloats;
    model.train_batch = nn::internal::NetTrainBatch;
    model.predict_floats = nn::internal::NetPredictFloats;
    model.predict = nn::internal::NetPredict;
  }
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
