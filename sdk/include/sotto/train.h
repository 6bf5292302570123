// Local SGD on one device, one mini-batch a step. Part of sotto/train.
//
// The trainer computes from a key which samples a step takes, and stores no order. Nothing is
// allocated, and only the sample callback may block. One thread at a time.
#pragma once

#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/nn.h"

namespace sotto {

// Where the update is bounded in L2 norm. Values cross the wire: never renumber.
enum class Clipping : uint8_t {
  kEveryStep = 1,  // project into the ball of radius clip_l2 after each step (DP-Fed-LS, Alg. 1)
  kAtEnd = 2,      // scale the finished update (Gau-LRQ, Eq. (10))
};

// How clip_l2 is shared among the layers ("per-layer clipping": McMahan, Ramage, Talwar, Zhang,
// "Learning Differentially Private Recurrent Language Models" (2018), Section 3). Each layer's part
// of the update is projected by itself, where Clipping says, to its own bound: BoundOfLayer(). The
// encoder still clips the whole update to clip_l2, in integers (update_scale.h), so no sensitivity
// and no epsilon depends on this. Values cross the wire: never renumber.
enum class ClipByLayer : uint8_t {
  kNone = 0,   // one bound for all parameters together, "flat"
  kEqual = 1,  // the same bound for each layer
  kSize = 2,   // its square is in proportion to the layer's parameters
};

// Which samples a step takes. Values cross the wire: never renumber.
enum class Batches : uint8_t {
  // Each pass visits every sample once, in another order; its last batch may be smaller.
  kPasses = 0,
  // Each sample of each batch is drawn from all samples, uniformly and independently. A pass has as
  // many batches as with kPasses, each of batch_size samples.
  kWithReplacement = 1,
};

// The power p of learning_rate / (rate_first + k)^p. Values cross the wire: never renumber.
enum class RatePower : uint8_t { kZero = 0, kHalf = 1, kOne = 2 };

struct TrainingOptions {
  uint32_t local_epochs = 5;   // passes over the device's samples, 1 to 65535; see local_steps
  uint32_t batch_size = 10;    // samples a step, 1 to 65535
  float learning_rate = 0.1f;  // >= 0, finite; 0 switches training off
  float weight_decay = 0.0f;   // >= 0, finite
  float clip_l2 = 0.4f;        // > 0, a normal float, model units
  Clipping clipping = Clipping::kEveryStep;
  // These four bytes lie together, which keeps stacks small. See rate_first and gradient_clip.
  Batches batches = Batches::kPasses;
  RatePower rate_power = RatePower::kZero;
  GradientClipOf gradient_clip_of = GradientClipOf::kBatch;
  float momentum = 0.0f;  // [0, 1); above 0 a training needs memory for a velocity: see SgdStep
  // 1 to 65535: a training ends after this many steps, however many passes they take; without
  // samples it takes no step. 0: it ends after local_epochs passes.
  uint32_t local_steps = 0;
  // The learning rate of step k = 0, 1, ... is learning_rate / (rate_first + k)^p, with p given by
  // rate_power. rate_first is 1 to 2^31, or 0 if and only if p is 0: the rate is then constant.
  uint32_t rate_first = 0;
  // See SgdStep; its base is the model that training starts from.
  float gradient_clip = 0.0f;  // model units of a gradient, >= 2^-30, finite; 0: no clip
  float proximal = 0.0f;       // >= 0, finite
  ClipByLayer clip_by_layer = ClipByLayer::kNone;  // unless kNone, clip_l2 is at least 2^-100

  // The learning rate of step k, within 2 units in the last place. Converting rate_first + k to
  // float32 rounds it from 2^24 on.
  float Rate(uint32_t k) const;

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// The bound C_l of a layer's part of the update, model units, a normal float, rounded down: clip_l2
// times the square root of its share w_l, 1 / layers (kEqual) or size / parameters (kSize).
//   layers      with parameters that are trained and sent, >= 1
//   size        such parameters of this layer, >= 1; of all layers together `parameters`
//   parameters  at most kMaxParameters
//   Lemma. The squares of all layers' bounds have a sum of at most clip_l2^2. Proof: with u =
//     2^-24, the computed bound is at most C sqrt(w_l) (1 + u)^3.5 (1 - 8 u) < C sqrt(w_l), as no
//     number is below the normal range; and the shares add up to 1.
float BoundOfLayer(const TrainingOptions& options, uint32_t layers, uint32_t size,
                   uint32_t parameters);

// A permutation of [0, n), computed on the fly: a Feistel network of six rounds with cycle walking.
// It orders samples; it is not a cipher.
class KeyedPermutation {
 public:
  KeyedPermutation() = default;
  ~KeyedPermutation();

  // n >= 1. The same key and index give the same permutation. Returns kOk or kCryptoFailed.
  Status Reset(const Key& key, uint32_t index, uint32_t n);

  // The image of i < n. At most four applications of the network on average.
  uint32_t operator()(uint32_t i) const;

 private:
  static constexpr int kRounds = 6;

  uint32_t Network(uint32_t x) const;

  uint32_t n_ = 1;
  int half_bits_ = 1;
  uint32_t round_keys_[kRounds] = {};
};

class LocalTrainer {
 public:
  // Starts a training. model, options and all memory stay the caller's: they must outlive the
  // training.
  //   base     [model.parameters] the model that training starts from
  //   working  [model.trained()] the trained model, float32, once Step() says done; with momentum
  //            also a velocity; with a gradient clip that needs it also a gradient. The caller
  //            puts the values from which personal layers start behind the shared parameters
  //   scratch  [model.training_floats(batch_size)] float32
  //   indices  [batch_size]
  // Returns kOk, kInvalidArgument, also for momentum, a gradient clip or a proximal term with a
  // model that has none, or kBufferTooSmall; for a model in fixed point also kNotFinite or
  // kOutOfRange if base does not fit its format.
  Status Begin(const ModelInfo& model, const TrainingOptions& options, const SampleSource& source,
               const Key& order_key, Span<const float> base, const WorkingParameters& working,
               Span<float> scratch, Span<uint32_t> indices);
  // Temporary options, which would end before the training, do not compile.
  Status Begin(const ModelInfo& model, const TrainingOptions&& options, const SampleSource& source,
               const Key& order_key, Span<const float> base, const WorkingParameters& working,
               Span<float> scratch, Span<uint32_t> indices) = delete;

  // Trains on one mini-batch. *done is true after the last one, and at once without samples: the
  // trained model is then base, in fixed point rounded to its format.
  // Returns kOk, the sample callback's status, kOutOfRange for a bad label, kNotFinite if the
  // training diverged, or kWrongState if no training is under way.
  Status Step(bool* done);

  // Forgets the training and wipes its keys.
  void Wipe();

  // Whether there is something to do for Step().
  bool is_active() const { return active_; }

  // Mean loss of the steps so far, each before its own update.
  float mean_loss() const;

  // True once clipping has changed the working parameters. After a finished training it means:
  // under kAtEnd the update's norm was above clip_l2; under kEveryStep the distance from base was
  // above clip_l2 after some step. By layer the largest |part| / sqrt(w_l) stands for both, see
  // BoundOfLayer(). Adaptive clipping searches for quantiles of these lengths:
  //   Lemma 1. Up to the first step that is clipped, a training does not depend on clip_l2.
  //   Lemma 2. So clipped() compares clip_l2 with a length that does not depend on it: the norm of
  //            the update under kAtEnd, the largest distance after a step of the training without
  //            a bound under kEveryStep.
  //   Lemma 3. So the share of devices that are not clipped, as a function of clip_l2, is the
  //            distribution function of that length.
  bool clipped() const { return clipped_; }

  // Number of steps so far.
  uint32_t steps() const { return steps_; }

  // Number of steps in which a number of a net in fixed point saturated: it was out of the range of
  // its format, and the nearest number in range took its place. See FixedPoint.
  uint32_t saturated_steps() const { return saturated_steps_; }

 private:
  Status NextBatch(Batch* batch);
  Status Order(Span<uint32_t> batch);
  Status Draw(Span<uint32_t> batch);
  Status TrainBatch();
  Status Project(bool* was_outside) const;
  bool IsOver() const;

  const ModelInfo* model_ = nullptr;
  const TrainingOptions* options_ = nullptr;
  SampleSource source_;
  Key order_key_;
  Span<const float> base_;
  WorkingParameters working_;
  Span<float> scratch_;
  Span<uint32_t> indices_;
  KeyedPermutation order_;
  uint32_t epoch_ = 0;
  uint32_t position_ = 0;  // within the epoch
  uint32_t steps_ = 0;
  uint32_t saturated_steps_ = 0;
  float loss_sum_ = 0.0f;
  bool clipped_ = false;
  bool active_ = false;
};

}  // namespace sotto
