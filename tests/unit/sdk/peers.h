// Nodes without a server, with their samples, memory and store, for tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "sotto/nn.h"
#include "sotto/peer_trainer.h"
#include "unit/sdk/memory_store.h"

namespace sotto {

inline constexpr ModelInfo kOva =
    MakeModelInfo<nn::Sequential<nn::Dense<6, 3>, nn::OneVsAll>>("ova");

// Samples of a class each that a linear model can learn.
struct PeerSamples {
  std::vector<std::vector<float>> features;
  std::vector<uint32_t> labels;
  std::vector<uint32_t> reads;

  PeerSamples(uint32_t count, uint32_t seed, uint32_t inputs = 6, uint32_t classes = 3) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 0.2f);
    for (uint32_t i = 0; i < count; ++i) {
      labels.push_back(i % classes);
      features.emplace_back(inputs);
      for (float& x : features.back()) x = normal(random);
      features.back()[labels.back()] += 0.6f;
    }
  }
  static Status Read(void* context, uint32_t index, Span<float> x, uint32_t* label) {
    auto& self = *static_cast<PeerSamples*>(context);
    self.reads.push_back(index);
    std::copy(self.features[index].begin(), self.features[index].end(), x.begin());
    *label = self.labels[index];
    return Status::kOk;
  }
  SampleSource source() { return {static_cast<uint32_t>(features.size()), Read, this}; }
};

inline PeerJob SampleJob(PeerRule rule = PeerRule::kAverage) {
  PeerJob job;
  job.rule = rule;
  job.batch_size = 4;
  job.learning_rate = 0.25f;
  job.noise_q20 = 40000;
  job.most_local_steps = 8;
  return job;
}

inline PeerJob QuietJob(PeerRule rule) {
  PeerJob job = SampleJob(rule);
  job.unit = PeerUnit::kNone;
  job.noise_q20 = 0;
  return job;
}

inline PeerJob DeviceJob(PeerRule rule) {
  PeerJob job = SampleJob(rule);
  job.unit = PeerUnit::kDevice;
  job.clip_l2 = 0.25f;
  job.most_releases = 3;
  return job;
}

struct Peer {
  const ModelInfo& model;
  PeerSamples samples;
  MemoryStore ram;
  PeerConfig config;
  std::vector<float> local, work, head, last, scratch;
  std::vector<uint32_t> indices;
  std::vector<uint8_t> bytes;
  PeerTrainer trainer;
  SeededPeerEntropy entropy;

  Peer(const PeerJob& job, uint8_t number, uint32_t count = 40, const ModelInfo& of = kOva)
      : model(of),
        samples(count, number, of.inputs, of.classes),
        local(of.parameters),
        work(of.parameters),
        head(of.parameters),
        last(of.parameters),
        scratch(of.training_floats(of, job.batch_size)),
        indices(job.batch_size),
        bytes(MaxPublicationBytes(of.parameters)),
        entropy(Secret(number), &trainer) {
    static constexpr uint8_t kId[] = {'n', 'o', 'd', 'e'};
    config.model = &model;
    config.job = job;
    config.device_id = kId;
    config.secret = Secret(number);
    config.samples = samples.source();
    config.port.entropy = SeededPeerEntropy::Fill;
    config.port.context = &entropy;
    config.store = ram.store();
  }

  static Key Secret(uint8_t number) {
    Key key;
    key.bytes[0] = number;
    key.bytes[1] = 0x5a;
    return key;
  }
  PeerBuffers buffers() {
    return {{local.data(), local.size()},     {work.data(), work.size()},
            {head.data(), head.size()},       {last.data(), last.size()},
            {scratch.data(), scratch.size()}, {indices.data(), indices.size()},
            {bytes.data(), bytes.size()}};
  }
  Status Begin() { return trainer.Begin(config, buffers()); }
  std::vector<uint8_t> Publication() const {
    return {trainer.publication().begin(), trainer.publication().end()};
  }
};

// One step of SGD of kOva in double, on the samples `batch`.
inline std::vector<double> Step(const PeerSamples& samples, const std::vector<uint32_t>& batch,
                                std::vector<double> w, double rate, double decay) {
  const std::vector<double> at = w;
  for (size_t k = 0; k < 3; ++k) {
    double* const row = &w[6 * k];
    for (const uint32_t s : batch) {
      double score = at[18 + k];
      for (size_t i = 0; i < 6; ++i) score += at[6 * k + i] * samples.features[s][i];
      const double error = 1 / (1 + std::exp(-score)) - (samples.labels[s] == k ? 1 : 0);
      for (size_t i = 0; i < 6; ++i) {
        row[i] -= rate / static_cast<double>(batch.size()) * error * samples.features[s][i];
      }
      w[18 + k] -= rate / static_cast<double>(batch.size()) * error;
    }
  }
  for (size_t i = 0; i < w.size(); ++i) w[i] -= rate * decay * at[i];
  return w;
}

inline std::vector<double> Doubles(const std::vector<float>& v) { return {v.begin(), v.end()}; }

inline double Distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

// The samples that were read since the last call.
inline std::vector<uint32_t> Reads(Peer& peer) {
  std::vector<uint32_t> reads;
  reads.swap(peer.samples.reads);
  return reads;
}

}  // namespace sotto
