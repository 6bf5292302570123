#include "sim/fleet.h"

#include <algorithm>
#include <fmt/format.h>
#include <stdexcept>

#include "aggregate/dither_engine.h"
#include "aggregate/parallel.h"
#include "sotto/key_labels.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"
#include "sotto/seeded_entropy.h"
#include "sotto/update_scale.h"

namespace sotto::server {
namespace {

constexpr size_t kUploadChunkSize = 1000;

Partition MakePartition(const FleetOptions& options, size_t samples, const Key& run_key) {
  RandomStream random(posix::DeriveKey(run_key, key_label::kPartition), 0);
  return {samples, options.devices, options.samples_per_device,
          [&random](uint32_t bound) { return random.Below(bound); }};
}

// A device's flash: its share of the data set.
struct DeviceSamples {
  const Dataset* data;
  Span<const uint32_t> indices;

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    const auto* self = static_cast<const DeviceSamples*>(context);
    const uint32_t sample = self->indices[index];
    self->data->CopyFeatures(sample, features);
    *label = self->data->labels[sample];
    return Status::kOk;
  }
};

const char* Advice(Status status) {
  return status == Status::kNotFinite ? "; training diverged: lower the learning rate" : "";
}

// The clipped update in Q20, units of the noise's deviation.
std::vector<int32_t> ClippedValues(Span<const float> update, const TrainTask& task) {
  UpdateScale scale;
  const Status status =
      ComputeUpdateScale(update, task.training.clip_l2, task.quantizer_scale, &scale);
  if (status != Status::kOk) {
    throw std::runtime_error(
        fmt::format("an update cannot be clipped: {}{}", StatusName(status), Advice(status)));
  }
  std::vector<int32_t> values;
  for (const float value : update) values.push_back(ScaleToQ20(value, scale));
  return values;
}

// Uploads for a client that has trained and asks to begin its upload, through the job's channel.
//   update  what the client made
void UploadBaseline(const Device& identity, uint32_t device, const Client& client,
                    Span<const float> update, Job& job) {
  const Request& begin = client.request();
  Key key;
  const ByteSpan id(reinterpret_cast<const uint8_t*>(identity.id.data()), identity.id.size());
  const Status status = DeriveRoundKey(
      identity.secret, {begin.job_id, id, begin.round, begin.attempt, begin.nonce}, &key);
  if (status != Status::kOk) throw std::runtime_error("a round key cannot be derived");
  const std::vector<int32_t> values = ClippedValues(update, client.task());
  const std::vector<uint8_t> encoded = job.channel()->Encode(key, {values.data(), values.size()});
  Request chunk;
  chunk.kind = Request::Kind::kUpdateChunk;
  chunk.bytes = {encoded.data(), encoded.size()};
  chunk.last = true;
  if (job.Answer(device, begin).kind != Reply::Kind::kAck || !job.Answer(device, chunk).complete) {
    throw std::runtime_error(fmt::format("the update of device {} was refused", identity.id));
  }
}

}  // namespace

Fleet::Fleet(const FleetOptions& options, const ModelInfo& model, const Dataset& data,
             const Key& run_key)
    : options_(options),
      model_(model),
      data_(data),
      run_key_(run_key),
      partition_(MakePartition(options, data.size(), run_key)) {
  if (data.input_size() != model.inputs || data.classes != static_cast<int>(model.classes)) {
    throw std::invalid_argument(fmt::format(
        "model {} takes {} inputs in {} classes, but data set {} has {} in {}", model.name,
        model.inputs, model.classes, data.name, data.input_size(), data.classes));
  }
  for (uint32_t i = 0; i < options.devices; ++i) {
    registry_.Register(
        {fmt::format("sim-{:06}", i), posix::DeriveKey(run_key, key_label::kDevice, i)});
  }
}

bool Fleet::DropsOut(uint32_t device, uint32_t round, uint32_t attempt) const {
  if (options_.dropout <= 0) return false;
  RandomStream random(posix::DeriveKey(run_key_, key_label::kDropout, device, round, attempt), 0);
  return random.NextU32() < options_.dropout * 0x1p32;
}

// Devices ask for work before they can know whether they are drawn: so many of them as the job
// wants to hear of.
void Fleet::AskForWork(Job& job) const {
  uint8_t digest[kSha256Size] = {};
  if (ModelDigest(model_, digest) != Status::kOk) throw std::runtime_error("SHA-256 failed");
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.model_digest = digest;
  uint32_t heard_of = 0;
  for (uint32_t i = 0; i < registry_.size() && heard_of < job.config().min_devices; ++i) {
    if (DropsOut(i, job.round(), job.attempt())) continue;
    job.Answer(i, hello);
    ++heard_of;
  }
}

void Fleet::RunRound(Job& job, int threads) const {
  AskForWork(job);
  const std::vector<uint32_t>& cohort = job.cohort();
  const uint32_t batch_size = job.config().training.batch_size;
  const int workers = std::min(threads, static_cast<int>(std::max<size_t>(cohort.size(), 1)));
  std::vector<posix::ClientMemory> memories;
  for (int i = 0; i < workers; ++i) memories.emplace_back(model_, batch_size, kUploadChunkSize);
  ParallelFor(workers, cohort.size(), [&](size_t i, int worker) {
    if (DropsOut(cohort[i], job.round(), job.attempt())) return;
    RunDevice(cohort[i], job, memories[static_cast<size_t>(worker)]);
  });
}

void Fleet::RunDevice(uint32_t device, Job& job, posix::ClientMemory& memory) const {
  const Device& identity = registry_[device];
  DeviceSamples samples{&data_, partition_.DeviceSamples(device)};
  SeededEntropy entropy(identity.secret);

  ClientConfig config;
  config.model = &model_;
  config.device_id = {reinterpret_cast<const uint8_t*>(identity.id.data()), identity.id.size()};
  config.secret = identity.secret;
  config.engine = FastEngine();
  config.samples = {options_.samples_per_device, DeviceSamples::Read, &samples};
  config.port = posix::SystemPort();
  if (options_.seeded) {
    config.port.entropy = SeededEntropy::Fill;
    config.port.context = &entropy;
  }
  config.allow_training_without_privacy = !job.config().is_private();
  config.min_private_noise_q20 = PrivateNoiseLimitQ20(job.config().plan.private_noise_multiplier);

  Client client(config, memory.buffers());
  entropy.Attach(&client.task());
  Client::Progress progress = Client::Progress::kAgain;
  while (progress != Client::Progress::kWait && progress != Client::Progress::kDone) {
    Status status = client.Step(&progress);
    if (job.channel() != nullptr && client.state() == Client::State::kUploadBegin &&
        progress == Client::Progress::kSend) {
      UploadBaseline(identity, device, client, memory.buffers().update, job);
      return;
    }
    if (status == Status::kOk && progress == Client::Progress::kSend) {
      status = client.OnReply(job.Answer(device, client.request()));
    }
    if (status != Status::kOk) {
      throw std::runtime_error(fmt::format("device {} failed in round {}: {}{}", identity.id,
                                           job.round() + 1, StatusName(status), Advice(status)));
    }
  }
}

}  // namespace sotto::server
