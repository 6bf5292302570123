// For tests: a small real job and its real clients, all in one process: softmax on 64 features, a
// dozen devices.
#pragma once

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "round/job.h"
#include "sotto/certificate.h"
#include "sotto/client.h"
#include "sotto/models.h"
#include "sotto/posix/client_memory.h"
#include "sotto/posix/port.h"
#include "sotto/random.h"

namespace sotto::server {

constexpr uint32_t kSmallDevices = 12;
constexpr uint32_t kSmallSamples = 7;

// Remembers what a job commits, and can fail.
struct RecordingStore : JobLog {
  std::vector<AttemptRecord> attempts;
  std::vector<SealRecord> seals;
  std::vector<ReleaseRecord> releases;
  std::vector<HaltRecord> halts;
  std::vector<std::vector<float>> models;
  bool fail = false;

  void BeginJob(const JobRecord&) override {}
  void CommitAttempt(const AttemptRecord& record) override {
    if (fail) throw std::runtime_error("disk full");
    attempts.push_back(record);
  }
  void SealAttempt(const SealRecord& record) override {
    if (fail) throw std::runtime_error("disk full");
    seals.push_back(record);
  }
  void HaltJob(const HaltRecord& record) override { halts.push_back(record); }
  void CommitRelease(const ReleaseRecord& record) override {
    if (fail) throw std::runtime_error("disk full");
    releases.push_back(record);
    models.emplace_back(record.parameters.begin(), record.parameters.end());
  }
};

inline JobConfig SmallConfig() {
  JobConfig config;
  config.model = FindModel("softmax-64-10");
  config.plan.sampling = privacy::Sampling::kUniform;
  config.plan.devices = kSmallDevices;
  config.plan.cohort = 4;
  config.plan.planned_reports = 4;
  config.plan.rounds = 3;
  config.plan.dimension = config.model->parameters;
  config.plan.clip_l2 = 0.4;
  config.plan.noise_sigma = 0.2;
  config.plan.delta = 1e-3;
  config.plan = RoundToDevice(config.plan);
  config.training.local_epochs = 2;
  config.training.batch_size = 3;
  config.training.clip_l2 = 0.4f;
  config.learning_rate_decay = 1.0;
  return config;
}

// The same job, whose first model devices download: it derives from no key and lies on no grid.
inline JobConfig SmallConfigWithAModel() {
  JobConfig config = SmallConfig();
  config.initial_parameters.assign(config.model->parameters, 0.1F);
  return config;
}

// The same job, whose released models lie on a grid.
inline JobConfig SmallGridConfig() {
  JobConfig config = SmallConfig();
  config.aggregation.grid = 0.25;
  return config;
}

// The same job, whose rounds close as soon as all have reported.
inline JobConfig ClosingEarly(JobConfig config) {
  config.plan.participants_known = true;
  return config;
}

// Each device takes part in at most so many rounds. Three rounds of four of twelve devices make a
// pass.
inline JobConfig SmallPassesConfig(int64_t participations = 2, int64_t rounds = 6) {
  JobConfig config = SmallConfig();
  config.plan.sampling = privacy::Sampling::kPasses;
  config.plan.participations = participations;
  config.plan.rounds = rounds;
  config.min_devices = 0;
  config.process.hears_all = true;
  return config;
}

// Adaptive clipping from this bound, with noise of this deviation on the sum of the +-1/2 bits.
inline JobConfig SmallAdaptiveConfig(double clip_l2 = 0.4, double bit_sum_deviation = 0.05) {
  JobConfig config = SmallConfig();
  config.clip_schedule = privacy::ClipSchedule{0.5, 0.2};
  config.plan.dimension += 1;
  config.plan.clip_l2 = clip_l2;
  const double deviation = 2 * config.plan.noise_sigma;  // of four noises in the sum
  config.plan.clip_bit_scale = deviation / bit_sum_deviation;
  config.plan = RoundToDevice(config.plan);
  config.training.clip_l2 = static_cast<float>(clip_l2);
  config.Validate();
  return config;
}

// One device: the SDK's client with its own memory and seeded entropy.
class SmallDevice {
 public:
  SmallDevice(const Device& identity, uint32_t index, const ModelInfo& model,
              uint32_t entropy_stream = 0, size_t chunk = 50, bool has_momentum = false,
              bool has_gradient = false)
      : identity_(identity),
        entropy_(identity.secret, 1000 + entropy_stream),
        memory_(model, 16, chunk, has_momentum, has_gradient) {
    config.model = &model;
    config.device_id = {reinterpret_cast<const uint8_t*>(identity_.id.data()), identity_.id.size()};
    config.secret = identity_.secret;
    config.samples = {kSmallSamples, Read, this};
    config.port = posix::SystemPort();
    config.port.entropy = Entropy;
    config.port.context = this;
    seed_ = index;
  }

  Client& client() {
    if (!client_) client_ = std::make_unique<Client>(config, buffers());
    return *client_;
  }

  ClientBuffers buffers() { return memory_.buffers(); }

  // Runs until the client waits, is done or fails. The link is lost instead of delivering the reply
  // to request number `lose_at` (from 0), or instead of delivering request number
  // `lose_request_at`.
  Status Run(Job& job, uint32_t index, int lose_at = -1, int lose_request_at = -1) {
    Client::Progress progress = Client::Progress::kAgain;
    for (int sent = 0;;) {
      if (Status s = client().Step(&progress); s != Status::kOk) return s;
      if (progress == Client::Progress::kWait || progress == Client::Progress::kDone) break;
      if (progress != Client::Progress::kSend) continue;
      const int number = sent++;
      if (number == lose_request_at) {
        client().OnLinkLost();
        continue;
      }
      // What a link's frames would do to the memory that they share with training.
      for (uint8_t& byte : buffers().frames) byte = 0xff;
      const Reply reply = job.Answer(index, client().request());
      if (number == lose_at) {
        client().OnLinkLost();
        continue;
      }
      if (Status s = client().OnReply(reply); s != Status::kOk) return s;
      requests = sent;
    }
    return Status::kOk;
  }

  ClientConfig config;
  int requests = 0;
  Status entropy_status = Status::kOk;
  Status sample_status = Status::kOk;
  float feature_scale = 1;

 private:
  static Status Entropy(void* context, MutableByteSpan out) {
    auto* self = static_cast<SmallDevice*>(context);
    if (self->entropy_status != Status::kOk) return self->entropy_status;
    self->entropy_.Fill(out);
    return Status::kOk;
  }

  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label) {
    auto* self = static_cast<SmallDevice*>(context);
    if (self->sample_status != Status::kOk) return self->sample_status;
    RandomStream random(Key(), self->seed_ * kSmallSamples + index);
    for (float& value : features)
      value = self->feature_scale * static_cast<float>(random.Below(256)) / 255.0f;
    *label = random.Below(10);
    return Status::kOk;
  }

  Device identity_;
  RandomStream entropy_;
  posix::ClientMemory memory_;
  uint32_t seed_ = 0;
  std::unique_ptr<Client> client_;
};

inline DeviceRegistry SmallRegistry() {
  DeviceRegistry registry;
  for (uint32_t i = 0; i < kSmallDevices; ++i) {
    Device device{"small-" + std::to_string(i), {}};
    device.secret.bytes[0] = static_cast<uint8_t>(i + 1);
    registry.Register(device);
  }
  return registry;
}

// Registry, store and job together.
struct SmallJob {
  explicit SmallJob(const JobConfig& config = SmallConfig())
      : job(config, registry, store, Key()) {}

  // All of the cohort reports, in order or in reverse.
  void ReportAll(bool reverse = false) {
    std::vector<uint32_t> order = job.cohort();
    if (reverse) std::reverse(order.begin(), order.end());
    for (const uint32_t index : order) Report(index);
  }

  void Report(uint32_t index) {
    SmallDevice device(registry[index], index, *job.config().model, job.round());
    device.config.allow_training_without_privacy = !job.config().codec->certified;
    EXPECT_EQ(device.Run(job, index), Status::kOk);
  }

  std::vector<float> Model() const { return {job.parameters().begin(), job.parameters().end()}; }

  DeviceRegistry registry = SmallRegistry();
  RecordingStore store;
  Job job;
};

}  // namespace sotto::server
