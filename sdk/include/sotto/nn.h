// Layers and models as types: their dimensions are known when they compile. Part of sotto/nn.
//
//   using Net = sotto::nn::Sequential<sotto::nn::Dense<784, 10>>;
//
// A net ends in softmax and cross-entropy, so its last layer has one output a class. Parameters lie
// in layer order, weights row-major [outputs][inputs], then bias [outputs].
#ifndef SOTTO_NN_H_
#define SOTTO_NN_H_

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/sample_source.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {
namespace nn {

// Values enter the model digest: never renumber.
enum class LayerKind : uint32_t { kDense = 1 };

struct LayerInfo {
  LayerKind kind;
  uint32_t inputs;
  uint32_t outputs;
};

// One parameter tensor, row-major [rows][columns]. Smoothing treats each tensor on its own.
struct TensorInfo {
  uint32_t rows;
  uint32_t columns;
  constexpr uint32_t size() const { return rows * columns; }
};

// Fully connected: y = W x + b.
template <uint32_t inputs, uint32_t outputs>
struct Dense {
  static_assert(inputs >= 1 && outputs >= 1, "a layer has at least one input and one output");
  static constexpr uint32_t kInputs = inputs;
  static constexpr uint32_t kOutputs = outputs;
  static constexpr uint32_t kParameters = inputs * outputs + outputs;
  static constexpr LayerInfo kInfo = {LayerKind::kDense, inputs, outputs};
};

// What a net is trained in: see FixedPoint.
enum class Arithmetic : uint8_t { kFloat32, kFixedPoint };

// Layers one after the other. Softmax regression, a single Dense layer, is what trains today.
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

// The same net, trained in fixed point: for cores without a floating-point unit, which then spend a
// ninth of the instructions. Parameters are float32 before and after a training, so models, updates
// and digests are those of Net, and boards of both kinds can serve one job.
//
//   using Net = sotto::nn::FixedPoint<sotto::nn::Sequential<sotto::nn::Dense<64, 10>>>;
//
// During a training a parameter is an integer of 31 bits in units of 2^-24. It saturates at 64 in
// magnitude; a base that is not below is refused. Features beyond 8 in magnitude count as 8. A step
// rounds each parameter once a sample, to the nearest: n samples move it by at most n * 3e-8 from
// where the same steps unrounded would have. Why these formats, and why not stochastic rounding:
// sdk/TRAINING.md. Bits agree on every CPU.
template <class Net>
struct FixedPoint : Net {
  static_assert(Net::kInputs <= 8192, "sums of products fit into 64 bits");
  static constexpr Arithmetic kArithmetic = Arithmetic::kFixedPoint;
};

}  // namespace nn

// The samples of one mini-batch: indices into a source, read one at a time.
struct Batch {
  const SampleSource* source;
  Span<const uint32_t> indices;
};

// What the rest of the SDK and the server know of a model. Constant data; safe to share.
struct ModelInfo {
  const char* name;  // [A-Za-z0-9.-], unique among Models()
  Span<const nn::LayerInfo> layers;
  Span<const nn::TensorInfo> tensors;
  uint32_t inputs;
  uint32_t classes;
  uint32_t parameters;

  // What parameters are during a training, in the memory of their float32, is the model's own
  // business: begin_training makes it from base, end_training gives float32 back.
  //   base        [parameters] float32, unchanged between the two calls
  //   parameters  [parameters], not overlapping base
  // begin_training returns kOk, kNotFinite or kOutOfRange; parameters are then of no use.
  Status (*begin_training)(Span<const float> base, Span<float> parameters);
  void (*end_training)(Span<const float> base, Span<float> parameters);

  // Within a training: scales parameters towards base so that their distance is at most radius, up
  // to rounding; the encoder's integers make the bound exact.
  //   was_outside  the distance was above the radius; else nothing is changed
  // Returns kOk or kNotFinite (parameters and *was_outside untouched).
  Status (*project)(Span<const float> base, float radius, Span<float> parameters,
                    bool* was_outside);

  // Floats of scratch memory that train_batch needs for batches of at most batch_size samples.
  size_t (*training_floats)(const ModelInfo& model, uint32_t batch_size);

  // Within a training, one step of SGD on the mean cross-entropy of the batch:
  //   parameters <- (1 - learning_rate * weight_decay) * parameters - learning_rate * gradient
  //   parameters  [parameters] in and out
  //   scratch     [training_floats(batch size)] float32, unspecified before and after
  //   loss        the batch's mean loss before the step
  // Returns kOk, kInvalidArgument for an empty batch, kBufferTooSmall, kOutOfRange for a label not
  // below classes, or the sample callback's status; after a failure the parameters are of no use.
  // In fixed point also kNotFinite for such a feature, and kInvalidArgument for a learning rate of
  // 8 or more times the batch's size.
  Status (*train_batch)(const ModelInfo& model, const Batch& batch, float learning_rate,
                        float weight_decay, Span<float> parameters, Span<float> scratch,
                        float* loss);

  // Class scores before softmax. features [inputs], scores [classes].
  void (*predict)(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                  Span<float> scores);
};

// SHA-256 over u32le: format version 1, layer count, then kind, inputs, outputs of each layer. Two
// parties whose digests agree mean the same parameters by the same positions.
Status ModelDigest(const ModelInfo& model, uint8_t (&digest)[kSha256Size]);

namespace nn {
// Softmax regression on one Dense layer; needs no gradient vector: the output errors of the whole
// batch come first, then one rank-1 update a sample, so that every sample is read twice.
size_t SoftmaxTrainingFloats(const ModelInfo& model, uint32_t batch_size);
Status SoftmaxTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                         float weight_decay, Span<float> parameters, Span<float> scratch,
                         float* loss);
void SoftmaxPredict(const ModelInfo& model, Span<const float> parameters,
                    Span<const float> features, Span<float> scores);
Status FloatBegin(Span<const float> base, Span<float> parameters);
Status FloatProject(Span<const float> base, float radius, Span<float> parameters,
                    bool* was_outside);
void FloatEnd(Span<const float> base, Span<float> parameters);

// The same in fixed point.
Status FixedTrainBatch(const ModelInfo& model, const Batch& batch, float learning_rate,
                       float weight_decay, Span<float> parameters, Span<float> scratch,
                       float* loss);
Status FixedBegin(Span<const float> base, Span<float> parameters);
Status FixedProject(Span<const float> base, float radius, Span<float> parameters,
                    bool* was_outside);
void FixedEnd(Span<const float> base, Span<float> parameters);
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
                     nn::FloatBegin,
                     nn::FloatEnd,
                     nn::FloatProject,
                     nn::SoftmaxTrainingFloats,
                     nn::SoftmaxTrainBatch,
                     nn::SoftmaxPredict};
  if constexpr (Net::kArithmetic == nn::Arithmetic::kFixedPoint) {
    model.begin_training = nn::FixedBegin;
    model.end_training = nn::FixedEnd;
    model.project = nn::FixedProject;
    model.train_batch = nn::FixedTrainBatch;
  }
  return model;
}

}  // namespace sotto

#endif  // SOTTO_NN_H_
