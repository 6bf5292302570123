#include "sim/fleet.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <stdexcept>

#include "aggregate/dither_engine.h"
#include "base/bytes.h"
#include "base/parallel.h"
#include "sotto/blocks.h"
#include "sotto/client.h"
#include "sotto/data/device_share.h"
#include "sotto/key_labels.h"
#include "sotto/local_round.h"
#include "sotto/posix/port.h"
#include "sotto/posix/run_key.h"
#include "sotto/random.h"
#include "sotto/seeded_entropy.h"

namespace sotto::server {
namespace {

constexpr size_t kUploadChunkSize = 1000;

const Dataset& Fitting(const Dataset& data, const ModelInfo& model) {
  RequireFits(model, data);
  return data;
}

Key PartitionKey(std::optional<uint64_t> seed, const Key& run_key) {
  return posix::DeriveKey(seed ? posix::RunKey(seed) : run_key, key_label::kPartition);
}

const char* Advice(Status status) {
  if (status == Status::kStoreFailed) {
    return "; its personal layers cannot be kept: set TMPDIR to a folder with more room";
  }
  return status == Status::kNotFinite ? "; training diverged: lower the learning rate" : "";
}

// A device that fails to take part ends the simulation.
void Require(Status status, const LocalDevice& device, const Job& job) {
  if (status == Status::kOk) return;
  const std::string id(device.device_id.begin(), device.device_id.end());
  throw std::runtime_error(fmt::format("device {} failed in round {}: {}{}", id, job.round() + 1,
                                       StatusName(status), Advice(status)));
}

Fleet::Report Count(const std::vector<TrainingReport>& trainings) {
  Fleet::Report report;
  report.trained = static_cast<uint32_t>(trainings.size());
  for (const TrainingReport& training : trainings) {
    if (report.failure == Status::kOk) report.failure = training.failure;
    report.failed += training.failure != Status::kOk ? 1 : 0;
    report.saturated += training.saturated_steps > 0 ? 1 : 0;
  }
  return report;
}

TrainingReport ReportOf(const LocalRound& round) {
  return {round.failure(), round.saturated_steps()};
}

// Takes part with the SDK's client, as a board does.
TrainingReport RunClient(uint32_t index, const LocalDevice& device, Job& job,
                         SeededEntropy& entropy, posix::ClientMemory& memory) {
  ClientConfig config;
  static_cast<LocalDevice&>(config) = device;
  config.engine = FastEngine();
  config.allow_training_without_privacy = !job.config().codec->certified;
  config.min_private_noise_q20 = PrivateNoiseLimitQ20(job.config().plan.private_noise_multiplier);
  Client client(config, memory.buffers());
  entropy.Attach(&client.task());
  Client::Progress progress = Client::Progress::kAgain;
  while (progress != Client::Progress::kWait && progress != Client::Progress::kDone) {
    Status status = client.Step(&progress);
    if (status == Status::kOk && progress == Client::Progress::kSend) {
      Request request = client.request();
      request.abilities.features &= ~kFeatureDifferences;  // a call saves no bytes by them
      status = client.OnReply(job.Answer(index, request));
    }
    Require(status, device, job);
  }
  Require(client.local_round().kept(), device, job);
  return ReportOf(client.local_round());
}

// Takes part with a codec that devices do not implement. The local round is the SDK's, and the
// clipped update goes through the job's codec instead of the SDK's quantizer.
TrainingReport RunBaseline(uint32_t index, const LocalDevice& device, Job& job,
                           SeededEntropy& entropy, posix::ClientMemory& memory) {
  const ClientBuffers buffers = memory.buffers();
  Request hello;
  uint8_t digest[kSha256Size] = {};
  Require(ModelDigest(*device.model, digest), device, job);
  hello.kind = Request::Kind::kHello;
  hello.model_digest = digest;
  hello.abilities = Client::AbilitiesOf(*device.model, buffers);
  const Reply reply = job.Answer(index, hello);
  if (reply.kind != Reply::Kind::kTrain) return {};
  const TrainTask& task = reply.task;
  entropy.Attach(&task);

  Require(buffers.writer.write(buffers.writer.context, job.parameters()), device, job);
  LocalRound round(FastEngine());
  Require(round.Begin(task, device, buffers), device, job);
  for (bool done = false; !done;) Require(round.Step(&done), device, job);
  Require(round.kept(), device, job);
  std::vector<int32_t> values(device.model->parameters);
  Require(round.ClippedUpdate({values.data(), values.size()}), device, job);
  Key key;
  Require(DeriveRoundKey(device.secret,
                         {task.job_id, device.device_id, task.round, task.attempt, round.nonce()},
                         &key),
          device, job);
  const std::vector<uint8_t> encoded =
      job.config().codec->make(task)->Encode(key, {values.data(), values.size()});

  Request begin;
  begin.kind = Request::Kind::kUpdateBegin;
  begin.job_id = task.job_id;
  begin.round = task.round;
  begin.attempt = task.attempt;
  begin.nonce = round.nonce();
  begin.coding = task.format.coding;
  Request chunk;
  chunk.kind = Request::Kind::kUpdateChunk;
  chunk.bytes = {encoded.data(), encoded.size()};
  chunk.last = true;
  const bool taken =
      job.Answer(index, begin).kind == Reply::Kind::kAck && job.Answer(index, chunk).complete;
  Require(taken ? Status::kOk : Status::kPeerRefused, device, job);
  return ReportOf(round);
}

// Throws std::invalid_argument if the share is not 0 and no device has a sample for it.
void RequireHeldOut(const FleetOptions& options, const Dataset& data, const Partition& partition) {
  if (options.held_out == 0) return;
  for (uint32_t i = 0; i < options.devices; ++i) {
    if (DeviceShare(data, partition.DeviceSamples(i), options.held_out).held_out_source().count > 0)
      return;
  }
  throw std::invalid_argument(fmt::format(
      "--held-out {:g}: every device has too few samples to hold one out; give a larger "
      "share, or more samples to each device",
      options.held_out));
}

}  // namespace

// What one thread works with.
struct Fleet::Worker {
  posix::ClientMemory memory;
  std::vector<float> samples;  // DeviceShare::CopyGenerated()
};

Fleet::Fleet(const FleetOptions& options, const ModelInfo& model, const Dataset& data,
             const Key& run_key)
    : options_(options),
      model_(WithBlocks(model)),
      data_(Fitting(data, model)),
      run_key_(run_key),
      partition_(MakePartition(options.partition, data, options.devices, options.samples_per_device,
                               PartitionKey(options.partition_seed, run_key))) {
  RequireHeldOut(options, data, partition_);
  registry_.Reserve(options.devices);
  for (uint32_t i = 0; i < options.devices; ++i) {
    registry_.Register(
        {fmt::format("sim-{:06}", i), posix::DeriveKey(run_key, key_label::kDevice, i)});
  }
  if (model.personal > 0) personal_ = std::make_unique<PersonalValues>(model, options.devices);
}

bool Fleet::DropsOut(uint32_t device, uint32_t round, uint32_t attempt) const {
  if (options_.dropout <= 0) return false;
  RandomStream random(posix::DeriveKey(run_key_, key_label::kDropout, device, round, attempt), 0);
  return random.NextU32() < options_.dropout * 0x1p32;
}

// Checks devices in before they can know whether they are drawn: as many as the job waits for,
// devices of other ranks included.
void Fleet::CheckIn(Job& job, const std::vector<bool>& is_here) const {
  uint8_t digest[kSha256Size] = {};
  if (ModelDigest(model_, digest) != Status::kOk) throw std::runtime_error("SHA-256 failed");
  Request hello;
  hello.kind = Request::Kind::kHello;
  hello.model_digest = digest;
  hello.abilities.features = 0xffffffff;  // RunRound() gives what the job needs
  uint32_t checked_in = 0;
  for (uint32_t i = 0; i < registry_.size() && checked_in < job.config().min_devices; ++i) {
    if (DropsOut(i, job.round(), job.attempt())) continue;
    if (is_here[i]) job.Answer(i, hello);
    ++checked_in;
  }
}

void Fleet::RequireSomeTraining(const Report& report, const Job& job) {
  if (report.failed < report.trained || report.trained == 0) return;
  throw std::runtime_error(fmt::format("every training failed in round {}: {}{}", job.round() + 1,
                                       StatusName(report.failure), Advice(report.failure)));
}

Fleet::Report Fleet::RunRound(Job& job, int threads) {
  const Report report = RunPart(job, threads, OneRank(), nullptr);
  RequireSomeTraining(report, job);
  return report;
}

Fleet::Report Fleet::RunPart(Job& job, int threads, const Ranks& ranks,
                             const std::function<bool()>& must_stop) {
  // Each device is of one rank in this attempt. Those that train are dealt by their place in the
  // cohort, so that each rank has as many, give or take one.
  std::vector<bool> is_here(registry_.size());
  for (uint32_t i = 0; i < registry_.size(); ++i) is_here[i] = ranks.Has(i);
  std::vector<uint32_t> drawn;
  uint64_t place = 0;
  for (const uint32_t device : job.cohort()) {
    if (DropsOut(device, job.round(), job.attempt())) continue;
    is_here[device] = ranks.Has(place++);
    if (is_here[device]) drawn.push_back(device);
  }
  CheckIn(job, is_here);
  const TrainingOptions& training = job.config().training;
  const int workers = std::min(threads, static_cast<int>(std::max<size_t>(drawn.size(), 1)));
  std::vector<Worker> pool;
  for (int i = 0; i < workers; ++i) {
    pool.push_back({posix::ClientMemory(model_, training.batch_size, kUploadChunkSize,
                                        training.momentum > 0, training.gradient_clip > 0),
                    {}});
  }
  std::vector<TrainingReport> trainings(drawn.size());
  std::atomic<bool> is_stopped{false};
  ParallelFor(workers, drawn.size(), [&](size_t i, int worker) {
    if (must_stop && must_stop()) is_stopped = true;
    if (!is_stopped) {
      trainings[i] = RunDevice(drawn[i], job, pool[static_cast<size_t>(worker)]);
    }
  });
  Report report = Count(trainings);
  report.is_stopped = is_stopped;
  return report;
}

TrainingReport Fleet::RunDevice(uint32_t index, Job& job, Worker& worker) {
  const Device& identity = registry_[index];
  DeviceShare share(data_, partition_.DeviceSamples(index), options_.held_out);
  share.CopyGenerated(&worker.samples);
  const HeldOut held_out = MakeHeldOut(share.held_out_source());
  SeededEntropy entropy(identity.secret);
  LocalDevice device;
  device.model = &model_;
  device.device_id = BytesOf(identity.id);
  device.secret = identity.secret;
  device.samples = share.source();
  device.held_out = &held_out;
  device.port = posix::SystemPort();
  device.port.entropy = SeededEntropy::Fill;
  device.port.context = &entropy;
  std::optional<PersonalValues::Device> own;
  PersistentStore store;
  if (personal_) {
    store = own.emplace(*personal_, index).store();
    device.store = &store;
  }
  const auto run = job.config().codec->servable ? RunClient : RunBaseline;
  return run(index, device, job, entropy, worker.memory);
}

}  // namespace sotto::server
