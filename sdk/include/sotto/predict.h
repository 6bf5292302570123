// Inference: the outputs of a trained model for a sample. Part of sotto/nn.
//
// `sotto model export --format header` writes a net's type and its trained parameters as a header:
// model_windows here, of a model named windows.
//
//   #include "windows.h"
//   #include "sotto/predict.h"
//   using namespace sotto;
//
//   float scratch[PredictFloats<model_windows::Net>()];
//   float outputs[model_windows::Net::kOutputs];
//
//   Status Classify(Span<const float> features, uint32_t* label) {
//     const Status status = Predict(model_windows::kModel, model_windows::kParameters, features,
//                                   scratch, outputs);
//     if (status == Status::kOk) *label = PredictedClass(model_windows::kModel, outputs);
//     return status;
//   }
//
// Parameters are constants and stay in flash. A model of MakePredictionModel() names only the
// functions of the forward pass, so a firmware that does not train links no code of a training. The
// outputs have the same bits on every CPU: a board finds the class that `sotto model predict`
// finds. Pure functions, safe in any thread or interrupt with its own memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/fixed.h"
#include "sotto/nn.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {

// A parameter of a net in fixed point: below 64 in magnitude, in units of 2^-24.
using FixedParameter = Fixed<31, 24>;

// Floats of scratch memory for a net whose parameters are in the form of its arithmetic: float32,
// or raw integers.
//   model  of MakePredictionModel()
constexpr size_t PredictFloats(const ModelInfo& model) { return nn::NetMemory(model.layers, 0); }
template <class Net>
constexpr size_t PredictFloats();

// Computes the outputs of a net for a sample: the scores of the classes or, for a regression or an
// autoencoder, the predicted numbers.
//   model       of MakePredictionModel(), or of MakeModelInfo() with float32 parameters
//   parameters  [model.trained()] float32, finite; or FixedParameter::raw() of each, for a model
//               of MakePredictionModel() in fixed point
//   features    [model.inputs] float32, raw: the model's steps prepare them; finite, or NaN for a
//               missing number if a step fills it; tokens are whole numbers below the vocabulary
//   scratch     [PredictFloats(model)], or more if model.predict_floats() says so; unspecified
//               before and after
//   outputs     [model.outputs]
// Returns kOk; kInvalidArgument if a span has another size or the model does not take parameters of
// this type; kBufferTooSmall if scratch is too small; kOutOfRange for a number that is no token;
// kNotFinite for a feature that is not finite (outputs unchanged), and for an output that is not.
Status Predict(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
               Span<float> scratch, Span<float> outputs);
Status Predict(const ModelInfo& model, Span<const int32_t> parameters, Span<const float> features,
               Span<float> scratch, Span<float> outputs);

// Computes the prediction error of a sample, for models with MeanSquaredError: the loss of the
// sample in a training, with the same bits,
//   1 / outputs sum_k (outputs[k] - target[k])^2
// The target of an autoencoder is the sample as the model's steps prepare it, so missing numbers
// are filled. In fixed point target, outputs and differences saturate at 128, as in a training.
// A sample that is unlike the training's samples has a large error. `sotto model threshold`
// computes the same error, and finds a threshold for it.
//   model, parameters, features, scratch, outputs
//           as of Predict(), which fills outputs; in fixed point the model is one of
//           MakePredictionModel()
//   target  for a regression [model.outputs], the true numbers, finite; for an autoencoder {}
// Returns kOk or, with *error unchanged: a status of Predict(); kInvalidArgument for a model with
// another loss or a target of another size; kNotFinite for a target or an error that is not finite.
Status PredictionError(const ModelInfo& model, Span<const float> parameters,
                       Span<const float> features, Span<const float> target, Span<float> scratch,
                       Span<float> outputs, float* error);
Status PredictionError(const ModelInfo& model, Span<const int32_t> parameters,
                       Span<const float> features, Span<const float> target, Span<float> scratch,
                       Span<float> outputs, float* error);

// The class with the highest score; in a tie the lower class. A single output tells two classes
// apart by its sign.
//   outputs  [model.outputs], at least one
uint32_t PredictedClass(const ModelInfo& model, Span<const float> outputs);

// Computes the probability of each class from the outputs. With softmax the probabilities add up to
// 1. With one-against-all each class has its own, and they need not add up to 1, except for a
// single output.
//   outputs        [model.outputs]
//   probabilities  [model.classes]; may be outputs itself if both have the same size
// Returns kOk, or kInvalidArgument if the model has no classes or a span has another size.
Status Probabilities(const ModelInfo& model, Span<const float> outputs, Span<float> probabilities);

namespace nn::internal {

// A layer that only goes forward. Softmax regression on one Dense needs no functions for its
// training; here it has the functions of any Dense.
constexpr LayerPlan ForwardPlan(LayerPlan layer, Arithmetic arithmetic) {
  if (layer.info.kind == LayerKind::kDense && layer.functions.forward == nullptr) {
    const LayerPlan before = layer;
    layer = DensePlan(before.info.output.size(), before.info.input);
    if (arithmetic == Arithmetic::kFixedPoint) layer = FixedDense(layer);
    layer.frozen = before.frozen;
    layer.prepared_in = before.prepared_in;
    layer.output_at = before.output_at;
  }
  layer.functions.add_gradient = nullptr;
  layer.functions.input_delta = nullptr;
  return layer;
}

template <class Net>
constexpr auto MakeForwardNet() {
  auto net = Net::kNet;
  for (LayerPlan& layer : net.plan) layer = ForwardPlan(layer, Net::kArithmetic);
  return net;
}

// The steps that prepare a sample for a prediction: none that is random.
template <class Net>
constexpr size_t CountPredictionSteps() {
  return Net::Preparation().size() - CountRandom(Net::Preparation());
}

template <class Net>
constexpr auto MakePredictionSteps() {
  StepArray<CountPredictionSteps<Net>()> array;
  size_t count = 0;
  for (const PreparationStep& step : Net::Preparation()) {
    if (!step.is_random) array.steps[count++] = step;
  }
  return array;
}

template <class Net>
struct ForwardNet {
  static constexpr auto kNet = MakeForwardNet<Net>();
  static constexpr auto kSteps = MakePredictionSteps<Net>();
};

}  // namespace nn::internal

template <class Net>
constexpr size_t PredictFloats() {
  return nn::NetMemory(nn::internal::ForwardNet<Net>::kNet.plan, 0);
}

// The ModelInfo of a net for predictions alone: it cannot train, and has no digest. In fixed point
// its parameters are raw integers.
template <class Net>
constexpr ModelInfo MakePredictionModel(const char* name) {
  ModelInfo model;
  model.name = name;
  model.layers = nn::internal::ForwardNet<Net>::kNet.plan;
  model.loss = Net::kLoss;
  model.loss.errors = nullptr;
  model.inputs = Net::kInputs;
  model.outputs = Net::kOutputs;
  model.classes = Net::kClasses;
  model.parameters = Net::kParameters;
  model.personal = Net::kPersonal;
  if constexpr (nn::internal::CountPredictionSteps<Net>() > 0) {
    model.preparation = nn::internal::ForwardNet<Net>::kSteps.steps;
  }
  model.predict_floats = nn::internal::NetPredictFloats;
  // Raw parameters go to the second Predict(), which needs no pointer.
  if constexpr (Net::kArithmetic == nn::Arithmetic::kFloat32) {
    model.predict = nn::internal::NetPredict;
  }
  return model;
}

// The same with names of the classes.
template <class Net, size_t classes>
constexpr ModelInfo MakePredictionModel(const char* name,
                                        const char* const (&class_names)[classes]) {
  static_assert(classes == Net::kClasses, "each class has a name");
  ModelInfo model = MakePredictionModel<Net>(name);
  model.class_names = class_names;
  return model;
}

}  // namespace sotto
