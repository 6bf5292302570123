// Nodes without a server: the bytes that they publish.
#include "golden/check.h"
#include "golden/digests.h"
#include "sotto/peer_trainer.h"
#include "sotto/random.h"

namespace sotto::golden {
namespace {

using Net = nn::Sequential<nn::Dense<20, 5>, nn::OneVsAll>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("golden peer");
constexpr uint32_t kSamples = 50;
constexpr uint32_t kBatchSize = 8;
constexpr uint8_t kDevice[] = {'n', 'o', 'd', 'e', '-', '1'};

// Features are multiples of 1/256 in [-0.5, 0.5): the norms of many samples are above the bound.
Status ReadSample(void*, uint32_t index, Span<float> features, uint32_t* label) {
  RandomStream random(TestKey(4), index);
  *label = random.Below(Net::kClasses);
  for (float& feature : features) {
    feature = static_cast<float>(static_cast<int32_t>(random.NextU32() >> 24) - 128) * (1.0f / 256);
  }
  return random.status();
}

// The store of a program that does not end before its node.
Status LoadNothing(void*, StoreSlot, size_t, MutableByteSpan, size_t* size) {
  *size = 0;
  return Status::kOk;
}
// The record is part of what is compared.
Status HashRecord(void* context, StoreSlot, Span<const ByteSpan> parts) {
  for (const ByteSpan part : parts) {
    if (Status s = static_cast<Sha256*>(context)->Update(part); s != Status::kOk) return s;
  }
  return Status::kOk;
}

struct Memory {
  float local[Net::kParameters];
  float work[Net::kParameters];
  float head[Net::kParameters];
  float last[Net::kParameters];
  float scratch[nn::TrainingMemory(Net::Plan(), Net::kLoss, kBatchSize)];
  uint32_t indices[kBatchSize];
  uint8_t publication[MaxPublicationBytes(Net::kParameters)];
};

// Two passes in which the node publishes every third step.
Status Publications(const PeerJob& job, Digest digest) {
  Memory m;
  Sha256 hash;
  PeerTrainer trainer;
  SeededPeerEntropy entropy(TestKey(9), &trainer);
  PeerConfig config;
  config.model = &kModel;
  config.job = job;
  config.device_id = kDevice;
  config.secret = TestKey(9);
  config.samples = {kSamples, ReadSample, nullptr};
  config.port.entropy = SeededPeerEntropy::Fill;
  config.port.context = &entropy;
  config.store = {LoadNothing, HashRecord, &hash};
  Status s =
      trainer.Begin(config, {m.local, m.work, m.head, m.last, m.scratch, m.indices, m.publication});
  PeriodPolicy period(3);
  for (uint32_t version = 1; s == Status::kOk && !trainer.is_done();) {
    bool share = false;
    s = trainer.Decide(period.policy(), &share);
    if (s == Status::kOk && !share) s = trainer.LearnAlone();
    if (s != Status::kOk || !share) continue;
    s = trainer.Publish(version++, 1);
    if (s == Status::kOk) s = trainer.Adopt(true);
  }
  if (s == Status::kOk) s = HashFloats(trainer.local(), &hash);
  return s == Status::kOk ? hash.Finish(digest) : s;
}

PeerJob JobOf(PeerRule rule) {
  PeerJob job;
  job.rule = rule;
  job.batch_size = kBatchSize;
  job.learning_rate = 0.5f;
  job.weight_decay = 0.001f;
  job.noise_q20 = 30000;
  job.passes = 2;
  return job;
}

}  // namespace

Status PeersAverage(Digest digest) { return Publications(JobOf(PeerRule::kAverage), digest); }

Status PeersAccumulate(Digest digest) {
  PeerJob job = JobOf(PeerRule::kAccumulate);
  job.error_clip = 0.25f;
  job.publication_steps = 2;
  return Publications(job, digest);
}

Status PeersDevice(Digest digest) {
  PeerJob job = JobOf(PeerRule::kShared);
  job.unit = PeerUnit::kDevice;
  job.clip_l2 = 0.25f;
  job.most_releases = 4;
  return Publications(job, digest);
}

}  // namespace sotto::golden
