#include "audit/audited_device.h"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "base/bytes.h"
#include "sotto/keys.h"
#include "sotto/posix/check.h"
#include "sotto/posix/port.h"
#include "sotto/seeded_entropy.h"

namespace sotto::server {
namespace {

constexpr size_t kChunkSize = 4096;

}  // namespace

AuditedDevice::AuditedDevice(const JobConfig& config)
    : AuditedDevice(*config.model, config.training) {}

AuditedDevice::AuditedDevice(const ModelInfo& model, const TrainingOptions& training)
    : memory_(model, training.batch_size, kChunkSize, training.momentum > 0,
              training.gradient_clip > 0),
      buffers_(memory_.buffers()),
      held_out_(MakeHeldOut({0, Read, this, ReadVector})) {
  device_.samples = {1, Read, this, ReadVector};
  device_.held_out = &held_out_;
}

Status AuditedDevice::Read(void* context, uint32_t, Span<float> features, uint32_t* label) {
  std::fill(features.begin(), features.end(), static_cast<AuditedDevice*>(context)->feature_);
  *label = 0;
  return Status::kOk;
}

Status AuditedDevice::ReadVector(void* context, uint32_t, Span<float> features,
                                 Span<float> target) {
  std::fill(features.begin(), features.end(), static_cast<AuditedDevice*>(context)->feature_);
  std::fill(target.begin(), target.end(), 1.0F);
  return Status::kOk;
}

Status AuditedDevice::Train(const Device& identity, const ModelInfo& model, const TrainTask& task,
                            Span<const float> base) {
  SeededEntropy entropy(identity.secret);
  entropy.Attach(&task);
  device_.model = &model;
  device_.device_id = BytesOf(identity.id);
  device_.secret = secret_ = identity.secret;
  device_.port = posix::SystemPort();
  device_.port.entropy = SeededEntropy::Fill;
  device_.port.context = &entropy;
  buffers_.base = base;
  Status status = round_.Begin(task, device_, buffers_);
  for (bool done = false; status == Status::kOk && !done;) status = round_.Step(&done);
  return status;
}

std::vector<uint8_t> AuditedDevice::Encoded(const TrainTask& task, const CodecInfo& codec) {
  std::vector<uint8_t> encoded;
  if (!codec.servable) {
    std::vector<int32_t> values(device_.model->parameters);
    posix::Check(round_.ClippedUpdate({values.data(), values.size()}), "clipping an update");
    Key key;
    posix::Check(
        DeriveRoundKey(secret_,
                       {task.job_id, device_.device_id, task.round, task.attempt, round_.nonce()},
                       &key),
        "the key of an update");
    return codec.make(task)->Encode(key, {values.data(), values.size()});
  }
  uint8_t chunk[kChunkSize];
  for (bool is_last = false; !is_last;) {
    size_t written = 0;
    posix::Check(round_.Read({chunk, sizeof(chunk)}, &written, &is_last), "encoding an update");
    encoded.insert(encoded.end(), chunk, chunk + written);
  }
  return encoded;
}

bool AuditedDevice::Upload(uint32_t index, const TrainTask& task, const CodecInfo& codec,
                           Attempt& attempt) {
  const std::vector<uint8_t> encoded = Encoded(task, codec);
  Request begin;
  begin.kind = Request::Kind::kUpdateBegin;
  begin.job_id = task.job_id;
  begin.round = task.round;
  begin.attempt = task.attempt;
  begin.nonce = round_.nonce();
  begin.coding = task.format.coding;
  begin.clip_bit_q20 = task.clip_bit_q20;
  begin.accuracy_q20 = task.accuracy_q20;
  begin.private_noise_q20 = task.private_noise_q20;
  Request chunk;
  chunk.kind = Request::Kind::kUpdateChunk;
  chunk.bytes = {encoded.data(), encoded.size()};
  chunk.last = true;
  return attempt.Answer(index, begin).kind == Reply::Kind::kAck &&
         attempt.Answer(index, chunk).complete;
}

}  // namespace sotto::server
