// A model as data for the rest of the SDK and the server: shape and functions. Part of sotto/nn.
//
// MakeModelInfo() in nn.h makes a ModelInfo from a net's type. Its functions keep no state: threads
// may share a model if each has its own memory.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/loss.h"
#include "sotto/preparation.h"
#include "sotto/sample_source.h"
#include "sotto/span.h"
#include "sotto/status.h"

namespace sotto {
struct PersonalFunctions;  // personal.h

// The samples of one mini-batch: indices into a source. They are read one at a time.
struct Batch {
  const SampleSource* source;
  Span<const uint32_t> indices;
  // The random steps that prepare samples depend on a sample's index and on these: the training's
  // key, and the pass or, with replacement, the step, below 2^31. Without a key no random step is
  // applied.
  const Key* key = nullptr;
  uint32_t epoch = 0;
};

// The memory of a model while a training runs: float32, or raw integers of the fixed-point formats
// (sdk/TRAINING.md), one in the memory of each float. Only the model's own functions know which of
// the two. Before and after a training the parameters are float32 in a plain span.
struct WorkingParameters {
  Span<float> memory;         // [trained()]
  Span<float> velocity = {};  // [trained()] for a training with momentum, else not used
  // [trained()] for a training with the gradient clip that ModelInfo::gradient_for names, else not
  // used. Unspecified before and after each step.
  Span<float> gradient = {};
  // In fixed point: train_batch sets it if a number was out of the range of its format, and never
  // resets it. May be null.
  bool* saturated = nullptr;
};

// What a gradient clip bounds. Values cross the wire: never renumber.
enum class GradientClipOf : uint8_t {
  kBatch = 0,   // the mean gradient of a mini-batch
  kSample = 1,  // the gradient of each sample, before the mean
};

// One step of SGD on the mean loss of a batch.
//   0. With error_clip above 0 each derivative of a sample's loss by an output is clamped to
//      [-error_clip, error_clip]. Not for softmax regression, nor in fixed point.
//   1. The gradient g. Without a clip it is the mean of the samples' gradients g_i. With V =
//      gradient_clip above 0, of the batch: g / max(1, |g| / V); of samples: the mean of
//      g_i / max(1, |g_i| / V). The factor is rounded down, so no clipped norm exceeds V: by at
//      most 2^-24 (b + 200), where the norm is summed in b blocks of up to 256 numbers.
//   2. The step, momentum 0:
//        w <- w - learning_rate * (g + proximal * (w - base) + weight_decay * w)
//      With momentum, as PyTorch's SGD:
//        v <- momentum * v + weight_decay * w + proximal * (w - base) + g,
//        w <- w - learning_rate * v;  v begins at zero
// The proximal term acts on the shared parameters only: personal ones have no base.
// Neither weight decay nor the proximal term is clipped. Sources: clip and proximal term,
// Noisy-FedAvg and Noisy-FedProx (Sun, Shen, Tao, 2024), Algorithm 1 and Eq. (4).
struct SgdStep {
  float learning_rate = 0.0f;
  float weight_decay = 0.0f;
  float momentum = 0.0f;       // [0, 1)
  float gradient_clip = 0.0f;  // V; 0: none, else >= 2^-30
  GradientClipOf gradient_clip_of = GradientClipOf::kBatch;
  float proximal = 0.0f;        // FedProx's alpha
  Span<const float> base = {};  // [parameters]; not used if proximal is 0
  float error_clip = 0.0f;      // 0: none
};

// Describes a model to the rest of the SDK and the server. Constant data; safe to share.
struct ModelInfo {
  const char* name = nullptr;  // [A-Za-z0-9.-], unique among Models()
  Span<const nn::LayerPlan> layers;
  nn::LossPlan loss;
  uint32_t inputs = 0;  // of a sample, as it is read: SampleShape().size()
  uint32_t outputs = 0;
  uint32_t classes = 0;      // that a label tells apart; 0: the target is no class
  uint32_t parameters = 0;   // that are trained and sent: the shared ones
  uint32_t personal = 0;     // that are trained and stay on the device; they lie behind the others
  bool has_momentum = true;  // whether train_batch takes a momentum above 0
  // Whether train_batch takes a gradient clip and a proximal term; and the clip for which it needs
  // WorkingParameters::gradient. For the other one it needs no more memory.
  bool has_gradient_options = true;
  GradientClipOf gradient_for = GradientClipOf::kSample;
  // The steps that train_batch and predict first apply to a sample's raw features. A model that
  // prepares samples has other functions, see MakeModelInfo() in nn.h: setting this is not enough.
  Span<const nn::PreparationStep> preparation = {};
  Span<const char* const> class_names = {};  // [classes], UTF-8; or empty: classes are numbers
  // Descriptions of the samples, so that all devices mean the same; UTF-8, each may be empty.
  Span<const char* const> feature_names = {};  // [inputs], or of the last axis [channels]
  Span<const char* const> feature_units = {};  // as many, or one for all
  const char* sample_kind = nullptr;           // "acceleration of a wrist, 2.56 s"; null: none
  // How a training reaches the values of personal layers; null: there are none.
  const PersonalFunctions* personal_functions = nullptr;

  // Of a training, and of a prediction: shared parameters, then personal ones.
  constexpr uint32_t trained() const { return parameters + personal; }

  // Of a sample, as it is read. Its steps may give it another shape, the first layer's input.
  constexpr nn::Shape SampleShape() const {
    return preparation.empty() ? layers[0].info.input : preparation[0].input;
  }
  constexpr nn::Shape PreparedShape() const { return layers[0].info.input; }

  // Whether `samples` has the callback that this model's targets need.
  constexpr bool CanRead(const SampleSource& samples) const {
    return loss.target == nn::TargetKind::kVector ? samples.read_vector != nullptr
                                                  : samples.read != nullptr;
  }

  // Begin and end of a training: begin_training makes working parameters from the model `base`;
  // end_training turns them into the trained model, float32 in the same memory.
  //   base     [parameters] float32, unchanged between the two calls
  //   working  [trained()], not overlapping base. The personal parameters are the caller's:
  //            float32, before and after, and only nets in float32 have any
  // begin_training returns kOk, kNotFinite or kOutOfRange; on failure the working parameters must
  // not be used.
  Status (*begin_training)(Span<const float> base, const WorkingParameters& working) = nullptr;
  void (*end_training)(Span<const float> base, const WorkingParameters& working) = nullptr;

  // Adds to a hash what ModelDigest() covers. Returns kOk or the hash's status.
  Status (*update_digest)(const ModelInfo& model, Sha256* hash) = nullptr;

  // Within a training: moves the working parameters towards base so that their distance is at most
  // radius, up to rounding. The encoder later enforces the exact bound in integers.
  //   was_outside  the distance was above the radius; else nothing is changed
  // Returns kOk or kNotFinite (working parameters and *was_outside unchanged).
  //   working  of the shared parameters, or of a layer of them; base [as many]
  Status (*project)(Span<const float> base, float radius, const WorkingParameters& working,
                    bool* was_outside) = nullptr;

  // Floats of scratch memory that train_batch needs for batches of at most batch_size samples.
  size_t (*training_floats)(const ModelInfo& model, uint32_t batch_size) = nullptr;

  // Within a training, one step of SGD.
  //   working  [trained()] in and out
  //   scratch  [training_floats(batch size)] float32, unspecified before and after
  //   loss     the batch's mean loss before the step
  // Returns kOk, kInvalidArgument for an empty batch, kBufferTooSmall, kOutOfRange for a label not
  // below classes or a number that is no token of the model's vocabulary, kNotFinite for a gradient
  // whose norm cannot be clipped because it is not finite, or the sample callback's status; on
  // failure the working parameters must not be used. In fixed point also kNotFinite for
  // a feature that is not finite, and kInvalidArgument for a learning rate of 8 or more times the
  // batch's size; with momentum for a learning rate or a weight decay of 8 or more.
  Status (*train_batch)(const ModelInfo& model, const Batch& batch, const SgdStep& step,
                        const WorkingParameters& working, Span<float> scratch,
                        float* loss) = nullptr;

  // Floats of scratch memory that predict needs.
  size_t (*predict_floats)(const ModelInfo& model) = nullptr;

  // The outputs: of classes, their scores before softmax. parameters [trained()], features
  // [inputs], raw as from a sample source, scratch [predict_floats()], outputs [outputs]. features
  // may be the beginning of scratch, which does not keep them.
  void (*predict)(const ModelInfo& model, Span<const float> parameters, Span<const float> features,
                  Span<float> scratch, Span<float> outputs) = nullptr;
};

// SHA-256 over u32le. If two parties have equal digests, a position means the same parameter to
// both, and both train it alike. A single Dense layer with softmax and cross-entropy, without
// preparation and names, has format 1:
//   1, layer count 1, then kind, inputs, outputs
// All other nets have format 2:
//   2, layer count, then of each layer its kind, height, width and channels of input and of output,
//   extent, stride and padding of the window's rows and of its columns, and size;
//   the loss's kind and the target's;
//   the number of steps that prepare samples, and of each its kind, its first numbers (how many,
//   then their bits), its second numbers likewise, and its size; of one that changes the sample's
//   shape also height, width and channels of what it takes;
//   the number of layers whose parameters are frozen, and if it is not 0, the index of each and
//   then the bits of its parameters;
//   if classes have names, how many, and of each its length in bytes and its bytes;
//   if features have names or units, or samples a kind, 0xffffffff; then how many names of features
//   and each as before, the units likewise, and the kind as a list of one or none;
//   if layers are personal, 0xfffffffe and the index of the first one that has parameters
Status ModelDigest(const ModelInfo& model, uint8_t (&digest)[kSha256Size]);

}  // namespace sotto
