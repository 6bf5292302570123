#include <cmath>

#include "base/exact_arithmetic.h"
#include "sotto/num.h"
#include "sotto/random.h"
#include "sotto/train.h"

namespace sotto {
namespace {

constexpr uint32_t kMaxCount = 65535;
constexpr float kMinGradientClip = 0x1p-30f;
constexpr float kMinSharedClip = 0x1p-100f;
constexpr uint32_t kMaxRateFirst = uint32_t{1} << 31;

// Streams of the order key: KeyedPermutation has the streams below this one; the preparation of
// samples (prepared.cc) has the streams from twice this one.
constexpr uint32_t kFirstDraw = 0x40000000;

// A separate call: GCC 12 would make the conversion conditional, for a Cortex-M55 by an
// instruction that its assembler misreads (vcvtne.f32.u32).
[[gnu::noinline]] float ShareOf(uint32_t part, uint32_t whole) {
  return static_cast<float>(part) / static_cast<float>(whole);
}

}  // namespace

float TrainingOptions::Rate(uint32_t k) const {
  if (rate_power == RatePower::kZero) return learning_rate;
  const auto n = static_cast<float>(rate_first + k);
  return learning_rate / (rate_power == RatePower::kHalf ? std::sqrt(n) : n);
}

float BoundOfLayer(const TrainingOptions& options, uint32_t layers, uint32_t size,
                   uint32_t parameters) {
  constexpr float kRoundDown = 1.0f - 0x1p-21f;
  const bool is_equal = options.clip_by_layer == ClipByLayer::kEqual;
  const float share = ShareOf(is_equal ? 1 : size, is_equal ? layers : parameters);
  return options.clip_l2 * std::sqrt(share) * kRoundDown;
}

Status TrainingOptions::Validate() const {
  const bool has_clip = gradient_clip != 0.0f;
  if (has_clip && !(gradient_clip >= kMinGradientClip)) return Status::kInvalidArgument;
  if (!IsFinite(gradient_clip) || gradient_clip_of > GradientClipOf::kSample) {
    return Status::kInvalidArgument;
  }
  if (!(proximal >= 0.0f) || !IsFinite(proximal)) return Status::kInvalidArgument;
  if (local_epochs < 1 || local_epochs > kMaxCount) return Status::kInvalidArgument;
  if (batch_size < 1 || batch_size > kMaxCount) return Status::kInvalidArgument;
  if (!(learning_rate >= 0.0f) || !IsFinite(learning_rate)) return Status::kInvalidArgument;
  if (!(weight_decay >= 0.0f) || !IsFinite(weight_decay)) return Status::kInvalidArgument;
  constexpr uint32_t kOne = 0x3f800000;  // numbers from 0 have bits in their order
  if (FloatBits(momentum) >= kOne) return Status::kInvalidArgument;
  if (!IsPositiveNormal(clip_l2)) return Status::kInvalidArgument;
  if (clip_by_layer > ClipByLayer::kSize) return Status::kInvalidArgument;
  if (clip_by_layer != ClipByLayer::kNone && clip_l2 < kMinSharedClip) {
    return Status::kInvalidArgument;
  }
  if (local_steps > kMaxCount || batches > Batches::kWithReplacement) {
    return Status::kInvalidArgument;
  }
  if (rate_power > RatePower::kOne || rate_first > kMaxRateFirst) return Status::kInvalidArgument;
  if ((rate_power == RatePower::kZero) != (rate_first == 0)) return Status::kInvalidArgument;
  if (clipping != Clipping::kEveryStep && clipping != Clipping::kAtEnd) {
    return Status::kInvalidArgument;
  }
  return Status::kOk;
}

Status LocalTrainer::Begin(const ModelInfo& model, const TrainingOptions& options,
                           const SampleSource& source, const Key& order_key, Span<const float> base,
                           const WorkingParameters& working, Span<float> scratch,
                           Span<uint32_t> indices) {
  active_ = false;
  if (Status s = options.Validate(); s != Status::kOk) return s;
  if (!model.CanRead(source)) return Status::kInvalidArgument;
  if (base.size() != model.parameters || working.memory.size() != model.trained()) {
    return Status::kInvalidArgument;
  }
  if (indices.size() < options.batch_size ||
      scratch.size() < model.training_floats(model, options.batch_size)) {
    return Status::kBufferTooSmall;
  }
  const bool has_momentum = options.momentum != 0.0f;
  const bool has_clip = options.gradient_clip != 0.0f;
  const bool has_gradient = has_clip && options.gradient_clip_of == model.gradient_for;
  if (has_momentum && !model.has_momentum) return Status::kInvalidArgument;
  if ((has_clip || options.proximal != 0.0f) && !model.has_gradient_options) {
    return Status::kInvalidArgument;
  }
  if (has_momentum && working.velocity.size() != model.trained()) return Status::kBufferTooSmall;
  if (has_gradient && working.gradient.size() != model.trained()) return Status::kBufferTooSmall;
  model_ = &model;
  options_ = &options;
  source_ = source;
  order_key_ = order_key;
  base_ = base;
  working_ = working;
  if (!has_momentum) working_.velocity = {};
  scratch_ = scratch;
  indices_ = indices;
  epoch_ = position_ = steps_ = saturated_steps_ = 0;
  loss_sum_ = 0.0f;
  clipped_ = false;
  const Status status = model.begin_training(base, working_);
  active_ = status == Status::kOk;
  return status;
}

// The next samples of the pass.
Status LocalTrainer::Order(Span<uint32_t> batch) {
  if (position_ == 0) {
    if (Status s = order_.Reset(order_key_, epoch_, source_.count); s != Status::kOk) return s;
  }
  for (uint32_t i = 0; i < batch.size(); ++i) batch[i] = order_(position_ + i);
  return Status::kOk;
}

// Samples with replacement.
Status LocalTrainer::Draw(Span<uint32_t> batch) {
  RandomStream random(order_key_, kFirstDraw | steps_);
  for (uint32_t& index : batch) index = random.Below(source_.count);
  return random.status();
}

// Moves behind the mini-batch that it makes.
Status LocalTrainer::NextBatch(Batch* batch) {
  const uint32_t left = source_.count - position_;
  const uint32_t most = options_->batch_size;
  const uint32_t size = left < most ? left : most;
  const bool is_drawn = options_->batches == Batches::kWithReplacement;
  const Span<uint32_t> indices = indices_.first(is_drawn ? most : size);
  if (Status s = is_drawn ? Draw(indices) : Order(indices); s != Status::kOk) return s;
  *batch = {&source_, indices, &order_key_, is_drawn ? steps_ : epoch_};
  position_ += size;
  if (position_ == source_.count) {
    position_ = 0;
    ++epoch_;
  }
  return Status::kOk;
}

bool LocalTrainer::IsOver() const {
  const uint32_t steps = options_->local_steps;
  return steps > 0 ? steps_ >= steps : epoch_ >= options_->local_epochs;
}

// Trains on the next mini-batch.
Status LocalTrainer::TrainBatch() {
  Batch batch{};
  if (Status s = NextBatch(&batch); s != Status::kOk) return s;
  const TrainingOptions& o = *options_;
  const SgdStep step = {o.Rate(steps_),     o.weight_decay, o.momentum, o.gradient_clip,
                        o.gradient_clip_of, o.proximal,     base_};
  float loss = 0.0f;
  bool saturated = false;
  working_.saturated = &saturated;
  const Status status = model_->train_batch(*model_, batch, step, working_, scratch_, &loss);
  working_.saturated = nullptr;
  if (status != Status::kOk) return status;
  saturated_steps_ += saturated ? 1 : 0;
  loss_sum_ += loss;
  ++steps_;
  return Status::kOk;
}

// All shared parameters together, or layer by layer.
Status LocalTrainer::Project(bool* was_outside) const {
  *was_outside = false;
  uint32_t layers = 0;
  for (const nn::LayerPlan& layer : model_->layers) layers += layer.shared() > 0 ? 1 : 0;
  if (options_->clip_by_layer == ClipByLayer::kNone || layers < 2) {
    return model_->project(base_, options_->clip_l2, working_, was_outside);
  }
  uint32_t first = 0;
  for (const nn::LayerPlan& layer : model_->layers) {
    const uint32_t size = layer.shared();
    if (size == 0) continue;
    const float bound = BoundOfLayer(*options_, layers, size, model_->parameters);
    bool is_outside = false;
    const Status s = model_->project(base_.subspan(first, size), bound,
                                     {working_.memory.subspan(first, size)}, &is_outside);
    if (s != Status::kOk) return s;
    *was_outside = *was_outside || is_outside;
    first += size;
  }
  return Status::kOk;
}

Status LocalTrainer::Step(bool* done) {
  if (!active_) return Status::kWrongState;
  const bool has_samples = source_.count > 0;
  if (has_samples) {
    if (Status s = TrainBatch(); s != Status::kOk) return s;
  }
  active_ = has_samples && !IsOver();
  if (!active_ || options_->clipping == Clipping::kEveryStep) {
    bool was_outside = false;
    if (Status s = Project(&was_outside); s != Status::kOk) return s;
    clipped_ = clipped_ || was_outside;
  }
  if (!active_) model_->end_training(base_, working_);
  *done = !active_;
  return Status::kOk;
}

void LocalTrainer::Wipe() {
  active_ = false;
  order_key_ = Key();
  order_ = KeyedPermutation();
}

float LocalTrainer::mean_loss() const {
  return steps_ == 0 ? 0.0f : loss_sum_ / static_cast<float>(steps_);
}

}  // namespace sotto
