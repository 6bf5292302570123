// A device whose model and data an audit chooses, and whose local round and encoder are the SDK's.
// Part of sotto::server/audit.
//
// It has one sample. Its round uses the SDK's own dither, as a board does, not the faster one of
// the server. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "round/attempt.h"
#include "round/devices.h"
#include "round/job_config.h"
#include "sotto/local_round.h"
#include "sotto/posix/client_memory.h"

namespace sotto::server {

class AuditedDevice {
 public:
  // Memory for the trainings of this job; the configuration may go.
  explicit AuditedDevice(const JobConfig& config);
  AuditedDevice(const ModelInfo& model, const TrainingOptions& training);

  // Every feature of its sample; 0 at first.
  void SetFeature(float value) { feature_ = value; }

  // Trains from `base` and makes the update. Its entropy follows from the identity's secret, the
  // round and the attempt.
  //   model  of the size of the constructor's; it, the task and base outlive update() and Upload()
  // Returns the status of the step of the round that failed. A training that failed and reports
  // zeros is none: see round().
  Status Train(const Device& identity, const ModelInfo& model, const TrainTask& task,
               Span<const float> base);

  // Hands the update to the attempt, encoded by the device or, for a baseline, by its codec.
  // Returns whether the server took it. Throws std::runtime_error if the encoder fails.
  bool Upload(uint32_t index, const TrainTask& task, const CodecInfo& codec, Attempt& attempt);

  // The update as the trainer left it, before the encoder, after Train().
  Span<const float> update() { return memory_.buffers().update; }
  const LocalRound& round() const { return round_; }

 private:
  static Status Read(void* context, uint32_t index, Span<float> features, uint32_t* label);
  static Status ReadVector(void* context, uint32_t index, Span<float> features, Span<float> target);
  std::vector<uint8_t> Encoded(const TrainTask& task, const CodecInfo& codec);

  posix::ClientMemory memory_;
  ClientBuffers buffers_;
  float feature_ = 0;
  HeldOut held_out_;
  Key secret_;
  LocalDevice device_;
  LocalRound round_;
};

}  // namespace sotto::server
