#include "sotto/peer_trainer.h"

#include "base/exact_arithmetic.h"
#include "peer/bounded_sample.h"
#include "sotto/bytes.h"
#include "sotto/dither.h"
#include "sotto/initial_weights.h"
#include "sotto/key_labels.h"
#include "sotto/num.h"
#include "sotto/private_noise.h"
#include "sotto/random.h"
#include "sotto/update_scale.h"

namespace sotto {
namespace {

// With less noise than this the shift is 0. A multiple of 2^shift is at most an eighth of the
// noise's deviation, so rounding to it adds at most 1/768 of the noise's variance.
constexpr uint32_t kNoisePerStep = 8;

Status DeriveFor(ByteSpan secret, ByteSpan job_id, const char* label, Key* out) {
  return HkdfSha256(secret, job_id,
                    {reinterpret_cast<const uint8_t*>(label), __builtin_strlen(label)}, out);
}

uint32_t ShiftFor(uint32_t noise_q20) {
  uint32_t shift = 0;
  while (kNoisePerStep << (shift + 1) <= noise_q20) ++shift;
  return shift;
}

uint64_t SaturatingAdd(uint64_t a, uint64_t b) { return a + b < a ? UINT64_MAX : a + b; }

float Clamp(float x, float most) { return x > most ? most : x < -most ? -most : x; }

void CopyAll(Span<const float> from, Span<float> to) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[i];
}

}  // namespace

Status PeerConfig::Validate() const {
  if (model == nullptr || !IsValidDeviceId(device_id) || !model->CanRead(samples)) {
    return Status::kInvalidArgument;
  }
  if (job.unit != PeerUnit::kNone && port.entropy == nullptr) return Status::kInvalidArgument;
  if (!store.is_there() || samples.count < job.batch_size) return Status::kInvalidArgument;
  return job.Validate();
}

Status PeerTrainer::CheckModel() const {
  const ModelInfo& model = *config_.model;
  if (model.personal > 0) return Status::kMismatch;
  const bool clips = config_.job.error_clip > 0.0f;
  const bool can_clip =
      model.has_gradient_options && model.loss.kind != nn::LossKind::kSoftmaxCrossEntropy;
  if (clips && !can_clip) return Status::kMismatch;
  if (config_.job.unit == PeerUnit::kNone) return Status::kOk;
  double unused = 0.0;
  return PeerSensitivityQ20(model, config_.job, 0, &unused);
}

Status PeerTrainer::CheckBuffers() const {
  const ModelInfo& model = *config_.model;
  const size_t n = model.parameters;
  const bool has_models = buffers_.local.size() == n && buffers_.work.size() == n &&
                          buffers_.head.size() == n && buffers_.last.size() == n;
  const uint32_t batch = config_.job.batch_size;
  const bool is_enough =
      has_models && buffers_.scratch.size() >= model.training_floats(model, batch) &&
      buffers_.indices.size() >= batch && buffers_.publication.size() >= MaxPublicationBytes(n);
  return is_enough ? Status::kOk : Status::kBufferTooSmall;
}

Status PeerTrainer::Begin(const PeerConfig& config, const PeerBuffers& buffers) {
  Wipe();
  if (Status s = config.Validate(); s != Status::kOk) return s;
  config_ = config;
  buffers_ = buffers;
  ledger_ = {};
  publication_size_ = 0;
  publication_version_ = publication_step_ = local_steps_ = 0;
  if (Status s = CheckModel(); s != Status::kOk) return s;
  if (Status s = CheckBuffers(); s != Status::kOk) return s;
  if (Status s = PeerJobId(*config_.model, config_.job, job_id_); s != Status::kOk) return s;
  release_rho_q40_ = UINT64_MAX;
  if (config_.job.unit != PeerUnit::kNone) {
    const Status s = PeerReleaseRhoQ40(*config_.model, config_.job, &release_rho_q40_);
    if (s != Status::kOk) return s;
  }
  if (Status s = DeriveKeys(); s != Status::kOk) return s;
  order_pass_ = UINT32_MAX;
  steps_of_pass_ = config_.samples.count / config_.job.batch_size;
  if (steps_of_pass_ > UINT32_MAX / config_.job.passes) return Status::kInvalidArgument;
  steps_ = steps_of_pass_ * config_.job.passes;
  if (Status s = SetHead({}); s != Status::kOk) return s;
  CopyAll(buffers_.head, buffers_.last);
  ForgetLocalSteps();
  if (Status s = LoadRecord(); s != Status::kOk) return s;
  is_ready_ = true;
  return Status::kOk;
}

Status PeerTrainer::DeriveKeys() {
  const Status s = DeriveFor(config_.secret.bytes, job_id_, key_label::kPeerOrder, &order_key_);
  if (s != Status::kOk) return s;
  uint8_t info[sizeof(key_label::kPeerSamples) - 1 + 4];
  __builtin_memcpy(info, key_label::kPeerSamples, sizeof(info) - 4);
  StoreU32Le(config_.samples.count, info + sizeof(info) - 4);
  Key mark;
  if (Status m = HkdfSha256(order_key_.bytes, {}, info, &mark); m != Status::kOk) return m;
  __builtin_memcpy(samples_mark_, mark.bytes, sizeof(samples_mark_));
  return Status::kOk;
}

void PeerTrainer::Wipe() {
  is_ready_ = has_pending_ = false;
  order_key_ = Key();
  order_ = KeyedPermutation();
  config_.secret = Key();
}

// w_L <- P.
void PeerTrainer::ForgetLocalSteps() {
  CopyAll(buffers_.last, buffers_.local);
  local_steps_ = 0;
}

// The positions of a step's samples.
Status PeerTrainer::Order(uint32_t step, Span<uint32_t> indices) {
  const uint32_t pass = step / steps_of_pass_;
  if (pass != order_pass_) {
    if (Status s = order_.Reset(order_key_, pass, config_.samples.count); s != Status::kOk) {
      return s;
    }
    order_pass_ = pass;
  }
  const uint32_t first = step % steps_of_pass_ * config_.job.batch_size;
  for (uint32_t i = 0; i < indices.size(); ++i) indices[i] = order_(first + i);
  return Status::kOk;
}

// work <- base after one step of SGD, clamped. If the batch cannot be trained on it is base: what a
// node does next must not depend on its data.
Status PeerTrainer::TrainOn(uint32_t step, float rate, Span<const float> base, float* loss) {
  const ModelInfo& model = *config_.model;
  const Span<uint32_t> indices = buffers_.indices.first(config_.job.batch_size);
  if (Status s = Order(step, indices); s != Status::kOk) return s;
  BoundedSamples samples(model, config_.job, config_.samples);
  const SampleSource source = samples.source();
  const Batch batch = {&source, indices, &order_key_, step / steps_of_pass_};
  SgdStep sgd;
  sgd.learning_rate = rate;
  sgd.weight_decay = rate == 0.0f ? 0.0f : config_.job.weight_decay;
  sgd.error_clip = config_.job.error_clip;
  const WorkingParameters working = {buffers_.work};
  Status status = model.begin_training(base, working);
  if (status == Status::kOk) {
    status = model.train_batch(model, batch, sgd, working, buffers_.scratch, loss);
  }
  if (status == Status::kOk) model.end_training(base, working);
  for (size_t i = 0; i < base.size(); ++i) {
    const float x = buffers_.work[i];
    buffers_.work[i] = status == Status::kOk && IsFinite(x) ? Clamp(x, config_.job.range) : base[i];
  }
  return Status::kOk;
}

// The mean loss of w_L: a step of rate 0.
Status PeerTrainer::LossOn(uint32_t step, float* loss) {
  *loss = 0.0f;
  return TrainOn(step, 0.0f, buffers_.local, loss);
}

Status PeerTrainer::Decide(const SharePolicy& policy, bool* share) {
  if (!is_ready_ || has_pending_ || step_ >= steps_) return Status::kWrongState;
  PrivateSituation now;
  now.step = step_;
  now.steps = steps_;
  now.local_steps = local_steps_;
  now.version = head_version_;
  now.global = buffers_.head;
  if (!policy.has_public_inputs()) {
    now.local = buffers_.local;
    if (Status s = LossOn(step_, &now.loss); s != Status::kOk) return s;
    if (step_ > 0) {
      if (Status s = LossOn(step_ - 1, &now.loss_on_last); s != Status::kOk) return s;
    }
  }
  return policy.Decide(now, share);
}

Status PeerTrainer::LearnAlone() {
  if (!is_ready_ || has_pending_ || step_ >= steps_) return Status::kWrongState;
  const float times = config_.job.rule == PeerRule::kAverage ? 2.0f : 1.0f;
  const Status s = TrainOn(step_, times * config_.job.learning_rate, buffers_.local, &last_loss_);
  if (s != Status::kOk) return s;
  CopyAll(buffers_.work, buffers_.local);
  ++local_steps_;
  ++step_;
  // A sample must not enter one publication twice.
  const bool has_claim = config_.job.unit != PeerUnit::kNone;
  if (has_claim && step_ < steps_ && step_ % steps_of_pass_ == 0) ForgetLocalSteps();
  return Status::kOk;
}

Status PeerTrainer::SetHead(ByteSpan publication) {
  if (publication.empty()) {
    const Status s = PeerInitialModel(*config_.model, config_.job, buffers_.head);
    if (s != Status::kOk) return s;
    head_version_ = 0;
    for (uint8_t& byte : head_digest_) byte = 0;
    return Status::kOk;
  }
  PublicationHeader header;
  const Status s = DecodePublication(publication, config_.job.range, &header, buffers_.work);
  if (s != Status::kOk) return s;
  if (__builtin_memcmp(header.job_id, job_id_, kJobIdSize) != 0) return Status::kMalformed;
  if (Status d = Sha256Digest(publication, head_digest_); d != Status::kOk) return d;
  CopyAll(buffers_.work, buffers_.head);
  head_version_ = header.version;
  return Status::kOk;
}

// Whether the ledger pays for one more publication, and what it costs.
bool PeerTrainer::IsPaidFor(uint64_t* cost) const {
  const PeerJob& job = config_.job;
  const bool is_sample = job.unit == PeerUnit::kSample;
  const bool is_in_charged_pass = is_sample && ledger_.releases > 0 &&
                                  step_ / steps_of_pass_ == publication_step_ / steps_of_pass_;
  *cost = job.unit == PeerUnit::kNone || is_in_charged_pass ? 0 : release_rho_q40_;
  if (job.unit == PeerUnit::kDevice && ledger_.releases >= job.most_releases) return false;
  if (config_.most_rho_q40 == 0) return true;
  const uint64_t spent = is_sample ? ledger_.sample_rho_q40 : ledger_.device_rho_q40;
  return job.unit != PeerUnit::kNone && SaturatingAdd(spent, *cost) <= config_.most_rho_q40;
}

// A publication ends with its pass, so that each batch is in one.
uint32_t PeerTrainer::NextPublicationSteps() const {
  const uint32_t left = steps_of_pass_ - step_ % steps_of_pass_;
  return config_.job.publication_steps < left ? config_.job.publication_steps : left;
}

// local <- u, last <- base: see the table in peer_job.h.
Status PeerTrainer::MakeUpdate(uint32_t steps) {
  const PeerJob& job = config_.job;
  const Span<float> local = buffers_.local;
  const Span<float> last = buffers_.last;
  const Span<const float> head = buffers_.head;
  const bool averages = job.rule == PeerRule::kAverage;
  for (size_t i = 0; i < local.size(); ++i) {
    const float moved = local[i] - last[i];
    local[i] = averages                        ? 0.5f * moved
               : job.rule == PeerRule::kShared ? head[i]
                                               : Clamp(head[i] + moved, job.range);
    const int32_t base = PublishedUnits(head[i]);
    last[i] = averages ? PublishedParameter((base + PublishedUnits(last[i])) >> 1) : head[i];
  }
  const Span<const float> point = averages ? head : Span<const float>(local);
  for (uint32_t i = 0; i < steps; ++i) {
    if (i > 0) CopyAll(buffers_.work, local);
    const Status s = TrainOn(step_ + i, job.learning_rate, point, &last_loss_);
    if (s != Status::kOk) return s;
  }
  for (size_t i = 0; i < local.size(); ++i) {
    const float moved = buffers_.work[i] - head[i];
    local[i] = averages ? local[i] + moved : moved;
  }
  return Status::kOk;
}

// local <- base + u + noise, in range and a multiple of 2^shift units.
Status PeerTrainer::AddToBase(const UpdateScale& scale) {
  const PeerJob& job = config_.job;
  Key seed;
  if (job.unit != PeerUnit::kNone) {
    const Status s = config_.port.entropy(config_.port.context, MutableByteSpan(seed.bytes));
    if (s != Status::kOk) return Status::kEntropyFailed;
  }
  const PrivateNoise noise(seed, job.noise_q20);
  const uint32_t shift = ShiftFor(job.noise_q20);
  const auto most = static_cast<int64_t>(job.range * 0x1p20f) >> shift;
  const Span<float> local = buffers_.local;
  for (uint32_t first = 0; first < local.size(); first += kDitherBatch) {
    const size_t left = local.size() - first;
    int32_t drawn[kDitherBatch];
    const WipeOnExit<int32_t[kDitherBatch]> wipe(drawn);
    const Span<int32_t> some =
        Span<int32_t>(drawn).first(left < kDitherBatch ? left : kDitherBatch);
    if (Status s = noise.Generate(first, some); s != Status::kOk) return s;
    for (size_t i = 0; i < some.size(); ++i) {
      float& x = local[first + i];
      const int32_t u =
          job.unit == PeerUnit::kDevice ? ScaleToQ20(x, scale) : static_cast<int32_t>(x * 0x1p20f);
      const int64_t k = int64_t{PublishedUnits(buffers_.last[first + i])} + u + some[i];
      const int64_t half = shift == 0 ? 0 : int64_t{1} << (shift - 1);
      const int64_t q = (k + half) >> shift;
      const int64_t within = q > most ? most : q < -most ? -most : q;
      x = PublishedParameter(static_cast<int32_t>(within * (int64_t{1} << shift)));
    }
  }
  return Status::kOk;
}

Status PeerTrainer::Fix(uint32_t version, uint32_t node) {
  PublicationHeader header;
  __builtin_memcpy(header.job_id, job_id_, kJobIdSize);
  __builtin_memcpy(header.parent, head_digest_, kSha256Size);
  header.version = version;
  header.node = node;
  header.shift = ShiftFor(config_.job.noise_q20);
  const Status s =
      EncodePublication(header, buffers_.local, buffers_.publication, &publication_size_);
  if (s != Status::kOk) return s;
  publication_version_ = version;
  return Sha256Digest(publication(), publication_digest_);
}

Status PeerTrainer::Publish(uint32_t version, uint32_t node) {
  if (!is_ready_ || has_pending_ || step_ >= steps_ || version == 0) return Status::kWrongState;
  uint64_t cost = 0;
  if (!IsPaidFor(&cost)) return Status::kPeerRefused;
  is_ready_ = false;  // until all of it is done
  if (local_steps_ > config_.job.most_local_steps) ForgetLocalSteps();
  const uint32_t steps = NextPublicationSteps();
  if (Status s = MakeUpdate(steps); s != Status::kOk) return s;
  UpdateScale scale;
  if (config_.job.unit == PeerUnit::kDevice) {
    const Status s = ComputeUpdateScale(buffers_.local, config_.job.clip_l2, 1.0f, &scale);
    if (s != Status::kOk) return s;
  }
  if (Status s = AddToBase(scale); s != Status::kOk) return s;
  if (Status s = Fix(version, node); s != Status::kOk) return s;
  uint64_t& spent =
      config_.job.unit == PeerUnit::kSample ? ledger_.sample_rho_q40 : ledger_.device_rho_q40;
  spent = SaturatingAdd(spent, cost);
  publication_step_ = step_;
  ++ledger_.releases;
  ledger_.next_step = step_ + steps;
  if (Status s = SaveRecord(); s != Status::kOk) return s;
  step_ += steps;
  has_pending_ = is_ready_ = true;
  return Status::kOk;
}

Status PeerTrainer::Adopt(bool committed) {
  if (!is_ready_ || !has_pending_) return Status::kWrongState;
  CopyAll(buffers_.local, buffers_.last);
  local_steps_ = 0;
  has_pending_ = false;
  if (!committed) return Status::kOk;
  CopyAll(buffers_.local, buffers_.head);
  head_version_ = publication_version_;
  __builtin_memcpy(head_digest_, publication_digest_, kSha256Size);
  return Status::kOk;
}

Status PeerInitialModel(const ModelInfo& model, const PeerJob& job, Span<float> parameters) {
  uint8_t id[kJobIdSize];
  if (Status s = PeerJobId(model, job, id); s != Status::kOk) return s;
  Key key;
  if (Status s = DeriveFor(id, {}, key_label::kPeerWeights, &key); s != Status::kOk) return s;
  if (Status s = InitialWeights(model, key, parameters); s != Status::kOk) return s;
  for (float& x : parameters) x = PublishedParameter(PublishedUnits(Clamp(x, job.range)));
  return Status::kOk;
}

Status SeededPeerEntropy::Fill(void* context, MutableByteSpan out) {
  const auto& self = *static_cast<const SeededPeerEntropy*>(context);
  Key key;
  uint8_t info[sizeof(key_label::kPeerNoise) - 1 + 4];
  __builtin_memcpy(info, key_label::kPeerNoise, sizeof(key_label::kPeerNoise) - 1);
  StoreU32Le(self.trainer_->step(), info + sizeof(key_label::kPeerNoise) - 1);
  if (HkdfSha256(self.secret_.bytes, self.trainer_->job_id(), info, &key) != Status::kOk) {
    return Status::kEntropyFailed;
  }
  RandomStream random(key, 0);
  random.Fill(out);
  return random.status() == Status::kOk ? Status::kOk : Status::kEntropyFailed;
}

}  // namespace sotto
