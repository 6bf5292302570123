#include "sotto/local_round.h"

#include "base/exact_arithmetic.h"
#include "sotto/bytes.h"
#include "sotto/personal.h"

namespace sotto {
namespace {

// In place of the number of samples that the model got right.
constexpr uint32_t kNoAccuracy = 0xffffffff;

// How many samples a source has in the round that begins.
uint32_t CountNow(const SampleSource& samples) {
  return samples.begin == nullptr ? samples.count : samples.begin(samples.context);
}

}  // namespace

Status LocalDevice::Validate() const {
  if (model == nullptr || !IsValidDeviceId(device_id)) return Status::kInvalidArgument;
  if (!model->CanRead(samples)) return Status::kInvalidArgument;
  if (model->personal > 0 && store == nullptr) return Status::kInvalidArgument;
  return port.entropy == nullptr ? Status::kInvalidArgument : Status::kOk;
}

bool LocalDevice::CanMeasure() const {
  return model->loss.kind == nn::LossKind::kMeanSquaredError && model->personal == 0;
}

bool LocalDevice::CanEvaluate(Span<const float> scratch) const {
  return held_out != nullptr && model->classes > 0 && scratch.size() >= EvaluationFloats(*model);
}

void LocalRound::EndSamples() {
  if (end_samples_ != nullptr) end_samples_(samples_context_);
  end_samples_ = nullptr;
}

void LocalRound::Wipe() {
  EndSamples();
  trainer_.Wipe();
  is_measuring_ = false;
  SecureWipe(counts_, sizeof(counts_));
  encoder_.Wipe();
  SecureWipe(drawn_, sizeof(drawn_));
  has_update_ = is_encoded_ = false;
  salt_ = {};
  encoded_ = {};
}

UpdateIdentity LocalRound::Identity() const {
  return {task_->job_id, device_->device_id, task_->round, task_->attempt, nonce(), salt_.view()};
}

// Draws a nonce that no reset, restored backup or second server can repeat: see keys.h. With
// private noise the same draw gives the seed of the noise.
Status LocalRound::DrawNonceAndSeed() {
  const size_t size = task_->private_noise_q20 == 0 ? kNonceSize : sizeof(drawn_);
  return device_->port.entropy(device_->port.context, {drawn_, size});
}

Status LocalRound::Begin(const TrainTask& task, const LocalDevice& device,
                         const LocalRoundBuffers& buffers) {
  Wipe();
  if (Status s = device.Validate(); s != Status::kOk) return s;
  if (Status s = task.Validate(); s != Status::kOk) return s;
  if (task.accuracy_q20 != 0 && !device.CanEvaluate(buffers.scratch)) return Status::kMalformed;
  task_ = &task;
  device_ = &device;
  buffers_ = &buffers;
  evaluated_ = correct_ = 0;
  kept_ = Status::kOk;
  if (Status s = DrawNonceAndSeed(); s != Status::kOk) return s;
  Key order_key;
  if (Status s = DeriveOrderKey(device.secret, Identity(), &order_key); s != Status::kOk) return s;
  if (const PersonalFunctions* personal = device.model->personal_functions; personal != nullptr) {
    const Status s = personal->begin(*device.model, *device.store, buffers.update);
    if (s != Status::kOk) return s;
  }
  SampleSource samples = device.samples;
  end_samples_ = samples.end;
  samples_context_ = samples.context;
  samples.count = CountNow(samples);
  held_out_ = device.held_out == nullptr ? 0 : CountNow(device.held_out->samples);
  measures_ = task.error_edges.count() > 0;
  if (measures_) return BeginMeasuring(samples.count);
  return trainer_.Begin(*device.model, task.training, samples, order_key, buffers.base,
                        {buffers.update, buffers.velocity, buffers.gradient}, buffers.scratch,
                        buffers.indices);
}

Status LocalRound::BeginMeasuring(uint32_t samples) {
  const ModelInfo& model = *device_->model;
  if (!device_->CanMeasure() || task_->error_edges.bins() > model.parameters) {
    return Status::kMalformed;
  }
  if (buffers_->base.size() != model.parameters || buffers_->update.size() != model.parameters) {
    return Status::kInvalidArgument;
  }
  const bool fits =
      !buffers_->indices.empty() && buffers_->scratch.size() >= model.training_floats(model, 1);
  if (!fits) return Status::kBufferTooSmall;
  const bool has_held_out = held_out_ > 0 && model.CanRead(device_->held_out->samples);
  measured_ = has_held_out ? &device_->held_out->samples : &device_->samples;
  measured_count_ = has_held_out ? held_out_ : samples;
  measured_so_far_ = 0;
  failure_ = Status::kOk;
  is_measuring_ = true;
  return Status::kOk;
}

// The bin of a sample's error: the loss of a training step that moves nothing. Where the gradient
// is not finite the step spoils the working memory, so each sample begins with the round's model.
Status LocalRound::Measure(uint32_t index, uint32_t* bin) const {
  const ModelInfo& model = *device_->model;
  const WorkingParameters working = {buffers_->update};
  if (Status s = model.begin_training(buffers_->base, working); s != Status::kOk) return s;
  buffers_->indices[0] = index;
  float error = 0.0f;
  const Status status = model.train_batch(model, {measured_, buffers_->indices.first(1)}, SgdStep(),
                                          working, buffers_->scratch, &error);
  if (status != Status::kOk && status != Status::kNotFinite) return status;
  const bool is_number = status == Status::kOk && IsFinite(error);
  *bin = is_number ? task_->error_edges.BinOf(error) : task_->error_edges.count();
  return Status::kOk;
}

// As many samples as a mini-batch has.
Status LocalRound::MeasureSome(bool* done) {
  const uint32_t left = measured_count_ - measured_so_far_;
  const uint32_t batch = task_->training.batch_size;
  for (uint32_t i = 0; i < (left < batch ? left : batch); ++i) {
    uint32_t bin = 0;
    if (Status s = Measure(measured_so_far_, &bin); s != Status::kOk) return s;
    ++counts_[bin];
    ++measured_so_far_;
  }
  *done = measured_so_far_ == measured_count_;
  return Status::kOk;
}

// In place of the update.
void LocalRound::MakeHistogram() {
  const Span<float> update = Update();
  for (float& value : update) value = 0.0f;
  if (failure_ != Status::kOk || measured_count_ == 0) return;
  for (uint32_t bin = 0; bin < task_->error_edges.bins(); ++bin) {
    update[bin] = task_->training.clip_l2 * static_cast<float>(counts_[bin]) /
                  static_cast<float>(measured_count_);
  }
}

// Counts on among the held-out samples. False once all are counted.
bool LocalRound::EvaluateSome() {
  if (task_->accuracy_q20 == 0) return false;
  const HeldOut& held_out = *device_->held_out;
  const uint32_t left = held_out_ - evaluated_;
  if (left == 0 || correct_ == kNoAccuracy) return false;
  const uint32_t batch = task_->training.batch_size;
  const uint32_t count = left < batch ? left : batch;
  // Before the first step of a net with personal layers, which is in float32, its working memory is
  // the round's model with this device's personal values.
  const bool has_personal = device_->model->personal_functions != nullptr;
  const Span<const float> parameters = has_personal ? buffers_->update : buffers_->base;
  const Status status = held_out.count_correct(*device_->model, parameters, held_out.samples,
                                               evaluated_, count, buffers_->scratch, &correct_);
  evaluated_ += count;
  if (status != Status::kOk) correct_ = kNoAccuracy;
  return true;
}

// The accuracy's coordinate, Q20, rounded towards zero.
int32_t LocalRound::Accuracy() const {
  const uint32_t n = evaluated_;
  if (n == 0 || correct_ == kNoAccuracy) return 0;
  const uint64_t wrong = n - correct_;
  const bool is_negative = correct_ < wrong;
  const uint64_t excess = is_negative ? wrong - correct_ : correct_ - wrong;  // |2 k - n|
  const auto value = static_cast<int32_t>(Divide(excess * task_->accuracy_q20, n).quotient);
  return is_negative ? -value : value;
}

Status LocalRound::StepTrainer(bool* done) {
  const Status status = trainer_.Step(done);
  const ModelInfo& model = *device_->model;
  const bool is_over = status == Status::kOk && *done && trainer_.steps() > 0;
  if (!is_over || model.personal_functions == nullptr) return status;
  return model.personal_functions->end(model, *device_->store, buffers_->update, &kept_);
}

Status LocalRound::Step(bool* done) {
  if (!is_active()) return Status::kWrongState;
  if (EvaluateSome()) {
    *done = false;
    return Status::kOk;
  }
  failure_ = is_measuring_ ? MeasureSome(done) : StepTrainer(done);
  if (failure_ != Status::kOk) {
    trainer_.Wipe();
    *done = true;
  }
  if (*done) MakeUpdate();
  return Status::kOk;
}

Status LocalRound::GiveUpTraining(bool* done) {
  if (!is_active()) return Status::kWrongState;
  trainer_.Wipe();
  failure_ = Status::kTooLate;
  const bool counts = task_->accuracy_q20 != 0;
  if (counts && evaluated_ < held_out_) correct_ = kNoAccuracy;
  *done = true;
  MakeUpdate();
  return Status::kOk;
}

// The update overwrites the trained model.
void LocalRound::MakeUpdate() {
  EndSamples();
  const Span<const float> base = buffers_->base;
  const Span<float> update = Update();
  const bool is_zero = failure_ != Status::kOk;
  if (measures_) {
    MakeHistogram();
    is_measuring_ = false;
  } else {
    for (size_t i = 0; i < update.size(); ++i) update[i] = is_zero ? 0.0f : update[i] - base[i];
  }
  has_update_ = true;
  position_ = 0;
}

Status LocalRound::SetSalt(const Salt& salt) {
  if (!has_update_) return Status::kWrongState;
  const bool is_same = __builtin_memcmp(&salt, &salt_, sizeof(salt)) == 0;
  if (!is_same && (is_encoded_ || salt_.is_there)) return Status::kMalformed;
  salt_ = salt;
  return Status::kOk;
}

Status LocalRound::RequireEncoding() {
  if (!has_update_) return Status::kWrongState;
  if (is_encoded_ || is_float32()) return Status::kOk;
  is_encoded_ = true;
  const Status status = BeginEncoding();
  has_update_ = status == Status::kOk;
  return status;
}

// Not inlined: its copy of the seed would lie on the stack while the encoder works.
[[gnu::noinline]] PrivateNoise LocalRound::TakePrivateNoise() {
  Key seed;
  __builtin_memcpy(seed.bytes, drawn_ + kNonceSize, kKeySize);
  SecureWipe(drawn_ + kNonceSize, kKeySize);
  return {seed, task_->private_noise_q20};
}

// Under the key of the round's nonce.
Status LocalRound::BeginEncoder() {
  Key round_key;
  if (Status s = DeriveRoundKey(device_->secret, Identity(), &round_key); s != Status::kOk) {
    return s;
  }
  const PrivateNoise noise = TakePrivateNoise();
  if (noise.is_on()) ++private_updates_;
  const auto clip_bit = static_cast<int32_t>(task_->clip_bit_q20);
  ExtraCoordinates extras;
  if (clip_bit != 0) extras.Add(clipped() ? -clip_bit : clip_bit);
  if (task_->accuracy_q20 != 0) extras.Add(Accuracy());
  return encoder_.Begin(round_key, task_->format, Update(), task_->training.clip_l2,
                        task_->quantizer_scale, extras, noise);
}

Status LocalRound::BeginEncoding() {
  if (Status s = BeginEncoder(); s != Status::kOk) return s;
  bool fits = false;
  if (Status s = encoder_.FitsLength(&fits); s != Status::kOk) return s;
  if (!fits) {
    if (Status s = ReplaceByZeros(); s != Status::kOk) return s;
  }
  return EncodeAhead();
}

// Under the same key: the server knows the nonce, and nothing of the update was read.
Status LocalRound::ReplaceByZeros() {
  encoder_.Wipe();
  failure_ = Status::kBufferTooSmall;
  for (float& value : Update()) value = 0.0f;
  if (Status s = BeginEncoder(); s != Status::kOk) return s;
  bool fits = false;
  if (Status s = encoder_.FitsLength(&fits); s != Status::kOk) return s;
  return fits ? Status::kOk : Status::kBufferTooSmall;
}

// All of the update, if there is memory for it.
Status LocalRound::EncodeAhead() {
  const MutableByteSpan out = buffers_->encoded;
  if (out.empty()) return Status::kOk;
  size_t written = 0;
  if (Status s = encoder_.Read(out, &written); s != Status::kOk) return s;
  if (!encoder_.is_done()) return encoder_.Seek(0);
  encoded_ = out.first(written);
  return Status::kOk;
}

Status LocalRound::Seek(uint32_t offset) {
  if (Status s = RequireEncoding(); s != Status::kOk) return s;
  if (!encoded_.empty()) {
    if (offset > encoded_.size()) return Status::kInvalidArgument;
  } else if (!is_float32()) {
    if (Status s = encoder_.Seek(offset); s != Status::kOk) return s;
  } else if (offset % 4 != 0 || offset >= 4 * Update().size()) {
    return Status::kInvalidArgument;
  }
  position_ = offset;
  return Status::kOk;
}

Status LocalRound::Read(MutableByteSpan out, size_t* written, bool* is_last) {
  if (Status s = RequireEncoding(); s != Status::kOk) return s;
  if (!encoded_.empty()) {
    const size_t left = encoded_.size() - position_;
    *written = left < out.size() ? left : out.size();
    __builtin_memcpy(out.data(), encoded_.data() + position_, *written);
    *is_last = *written == left;
  } else if (!is_float32()) {
    if (Status s = encoder_.Read(out, written); s != Status::kOk) return s;
    *is_last = encoder_.is_done();
  } else {
    const Span<const float> update = Update();
    const size_t left = 4 * update.size() - position_;
    const size_t count = left < out.size() ? left : out.size() / 4 * 4;
    for (size_t i = 0; i < count; i += 4) {
      StoreU32Le(FloatBits(update[(position_ + i) / 4]), out.data() + i);
    }
    *written = count;
    *is_last = count == left;
  }
  position_ += static_cast<uint32_t>(*written);
  return Status::kOk;
}

Status LocalRound::ClippedUpdate(Span<int32_t> v_q20) const {
  if (!has_update_) return Status::kWrongState;
  const Span<const float> update = Update();
  if (v_q20.size() != update.size()) return Status::kInvalidArgument;
  UpdateScale scale;
  if (Status s =
          ComputeUpdateScale(update, task_->training.clip_l2, task_->quantizer_scale, &scale);
      s != Status::kOk) {
    return s;
  }
  ScaleAllToQ20(update, scale, v_q20);
  return Status::kOk;
}

}  // namespace sotto
