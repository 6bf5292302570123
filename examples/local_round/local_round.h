// One private round on a device, without a server: from made-up samples to the bytes of an update.
// The same on every CPU, bit for bit: a port's first proof. Part of examples/local_round.
//
// SEEDED, to be compared: a device draws its nonce from the port's entropy instead.
#pragma once

#include "sotto/local_round.h"
#include "sotto/models.h"
#include "sotto/net_memory.h"
#include "sotto/self_test.h"

namespace local_round {

using Net = sotto::Softmax64x10;
constexpr sotto::ModelInfo kModel = sotto::MakeModelInfo<Net>("softmax-64-10");
constexpr uint8_t kDeviceId[] = {'b', 'o', 'a', 'r', 'd', '-', '1'};
constexpr uint32_t kSamples = 50;
constexpr uint32_t kBatchSize = 10;
constexpr size_t kMaxUpdate = 512;  // bytes

// Sample `index`: a pattern of its class, shifted.
inline sotto::Status ReadSample(void*, uint32_t index, sotto::Span<float> features,
                                uint32_t* label) {
  *label = index % Net::kClasses;
  for (uint32_t i = 0; i < Net::kInputs; ++i) {
    features[i] = (i + index / Net::kClasses) % Net::kClasses == *label ? 1.0f : 0.0f;
  }
  return sotto::Status::kOk;
}

// Not entropy: the same bytes each time.
inline sotto::Status SameBytes(void*, sotto::MutableByteSpan out) {
  for (uint8_t& byte : out) byte = 1;
  return sotto::Status::kOk;
}

// Trains from a model of zeros and encodes the update.
//   update  [kMaxUpdate]
//   size    bytes of the update
// Returns kOk; kMismatch if this build computes other bits (sotto/self_test.h); or what failed.
inline sotto::Status Run(uint8_t (&update)[kMaxUpdate], size_t* size) {
  using sotto::Status;
  static float base[Net::kParameters];
  static float trained[Net::kParameters];
  static float scratch[sotto::nn::TrainingMemory(Net::Plan(), Net::kLoss, kBatchSize)];
  static uint32_t indices[kBatchSize];
  if (Status s = sotto::SelfTest(); s != Status::kOk) return s;
  sotto::TrainTask task;
  task.quantizer_scale = 0.02f;  // sigma of the noise
  task.training.batch_size = kBatchSize;
  sotto::LocalDevice device;
  device.model = &kModel;
  device.device_id = kDeviceId;
  device.samples = {kSamples, ReadSample, nullptr};
  device.port = {nullptr, SameBytes, nullptr};
  sotto::LocalRoundBuffers buffers;
  buffers.base = base;
  buffers.update = trained;
  buffers.scratch = scratch;
  buffers.indices = indices;
  sotto::LocalRound round;
  Status status = round.Begin(task, device, buffers);
  for (bool done = false; status == Status::kOk && !done;) status = round.Step(&done);
  *size = 0;
  for (bool is_last = false; status == Status::kOk && !is_last;) {
    size_t written = 0;
    status = round.Read(sotto::MutableByteSpan(update).subspan(*size), &written, &is_last);
    if (status == Status::kOk && written == 0 && !is_last) status = Status::kBufferTooSmall;
    *size += written;
  }
  round.Wipe();
  return status;
}

// Two hexadecimal digits of a byte, and a zero.
struct Hex {
  explicit Hex(uint8_t byte)
      : digits{"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15], '\0'} {}
  char digits[3];
};

}  // namespace local_round
