#include "golden/check.h"
#include "golden/digests.h"
#include "sotto/bytes.h"
#include "sotto/fixed.h"
#include "sotto/keys.h"
#include "sotto/num.h"
#include "sotto/random.h"
#include "sotto/train.h"

namespace sotto::golden {
namespace {

using Net = nn::Sequential<nn::Dense<20, 5>>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("golden");
constexpr ModelInfo kFixedModel = MakeModelInfo<nn::FixedPoint<Net>>("golden-q");
constexpr uint32_t kSamples = 50;
constexpr uint32_t kBatchSize = 8;

// Features are multiples of 1/256 in [-0.5, 0.5).
Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  RandomStream random(TestKey(4), index);
  *label = random.Below(Net::kClasses);
  for (float& feature : features) {
    feature = static_cast<float>(static_cast<int32_t>(random.NextU32() >> 24) - 128) * (1.0f / 256);
  }
  return random.status();
}

Status Trained(const ModelInfo& model, Clipping clipping, Digest digest) {
  TrainingOptions options;
  options.local_epochs = 4;
  options.batch_size = kBatchSize;
  options.weight_decay = 0.01f;
  options.clip_l2 = 0.25f;
  options.clipping = clipping;
  float base[Net::kParameters] = {};
  float parameters[Net::kParameters];
  float scratch[Net::kInputs + kBatchSize * Net::kClasses];
  uint32_t indices[kBatchSize];
  LocalTrainer trainer;
  if (Status s = trainer.Begin(model, options, {kSamples, ReadSample, nullptr}, TestKey(5), base,
                               {parameters}, scratch, indices);
      s != Status::kOk) {
    return s;
  }
  for (bool done = false; !done;) {
    if (Status s = trainer.Step(&done); s != Status::kOk) return s;
  }
  Sha256 hash;
  if (Status s = HashFloats(parameters, &hash); s != Status::kOk) return s;
  if (Status s = hash.UpdateU32(FloatBits(trainer.mean_loss())); s != Status::kOk) return s;
  return hash.Finish(digest);
}

}  // namespace

Status HashFloats(Span<const float> values, Sha256* hash) {
  for (const float value : values) {
    if (Status s = hash->UpdateU32(FloatBits(value)); s != Status::kOk) return s;
  }
  return Status::kOk;
}

Status DerivedKeys(Digest digest) {
  constexpr uint8_t kDevice[] = {'b', 'o', 'a', 'r', 'd', '-', '1'};
  const Key job = TestKey(6);
  UpdateIdentity update;
  update.job_id = {job.bytes, kJobIdSize};
  update.device_id = kDevice;
  update.round = 3;
  update.attempt = 1;
  update.nonce = {job.bytes + kJobIdSize, kNonceSize};
  Key keys[3];
  if (Status s = DeriveTlsKey(TestKey(7), &keys[0]); s != Status::kOk) return s;
  if (Status s = DeriveRoundKey(TestKey(7), update, &keys[1]); s != Status::kOk) return s;
  if (Status s = DeriveOrderKey(TestKey(7), update, &keys[2]); s != Status::kOk) return s;
  Sha256 hash;
  for (const Key& key : keys) {
    if (Status s = hash.Update(key.bytes); s != Status::kOk) return s;
  }
  return hash.Finish(digest);
}

Status ExpAndLog(Digest digest) {
  Sha256 hash;
  for (int32_t i = -20000; i <= 20000; ++i) {
    // Exp in steps of 1/220 over [-90.9, 90.9]; Log of patterns spread over all positive numbers.
    const float x = static_cast<float>(i) / 220;
    const float y = FloatFromBits(static_cast<uint32_t>(i + 20000) * 53000);
    const float results[] = {Exp(x), Log(y)};
    if (Status s = HashFloats(results, &hash); s != Status::kOk) return s;
  }
  return hash.Finish(digest);
}

Status Permutations(Digest digest) {
  constexpr uint32_t kCounts[] = {1, 2, 3, 4, 5, 50, 1000, 65535, 65536, 65537, 100000};
  Sha256 hash;
  for (const uint32_t n : kCounts) {
    KeyedPermutation permutation;
    if (Status s = permutation.Reset(TestKey(8), n, n); s != Status::kOk) return s;
    for (uint32_t i = 0; i < n && i < 2000; ++i) {
      if (Status s = hash.UpdateU32(permutation(i)); s != Status::kOk) return s;
    }
  }
  return hash.Finish(digest);
}

Status TrainedEveryStep(Digest digest) { return Trained(kModel, Clipping::kEveryStep, digest); }
Status TrainedAtEnd(Digest digest) { return Trained(kModel, Clipping::kAtEnd, digest); }

Status FixedExpAndLog(Digest digest) {
  Sha256 hash;
  uint64_t sum = 0;
  for (int32_t i = 0; i <= 40000; ++i) {
    // Exp in steps of 577/2^20 over [-22, 0]; Log of the sums of its results.
    const int32_t y = Exp(Fixed<32, 20>::FromRaw(-577 * i)).raw();
    sum += static_cast<uint32_t>(y);
    if (Status s = hash.UpdateU32(static_cast<uint32_t>(y)); s != Status::kOk) return s;
    const int32_t log = LogOfSum(sum).raw();
    if (Status s = hash.UpdateU32(static_cast<uint32_t>(log)); s != Status::kOk) return s;
  }
  return hash.Finish(digest);
}

Status FixedTrainedEveryStep(Digest digest) {
  return Trained(kFixedModel, Clipping::kEveryStep, digest);
}
Status FixedTrainedAtEnd(Digest digest) { return Trained(kFixedModel, Clipping::kAtEnd, digest); }

}  // namespace sotto::golden
