// The motor's board in a job: its net, and a log of what its sensor read. For SOTTO_DEVICE_NET of
// examples/cortex_m; nets/softmax.h there says what such a header gives. Part of
// examples/vibration.
//
// A board of yours pushes each reading as it comes, for months. The emulated one has no sensor and
// no time: at its start it pushes what the motor SOTTO_MACHINE reads in some seconds. RAM stands
// for the pages of flash.
#pragma once

#include "motor.h"
#include "sotto/nn.h"
#include "sotto/sample_log.h"

#if !defined(SOTTO_MACHINE)
#define SOTTO_MACHINE 1
#endif

namespace sotto {

// bearing.toml, as `sotto model show bearing.toml --cpp` prints it.
constexpr float kMean2[] = {-10.5f};
constexpr float kDeviation2[] = {1.0f};
using Net = nn::Sequential<nn::Input<256, 3>, nn::Spectrum<256, 256, 32>,
                           nn::Normalise<kMean2, kDeviation2>, nn::Dense<96, 8>, nn::Tanh,
                           nn::Dense<8, 96>, nn::MeanSquaredError<nn::TargetKind::kInput>>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("bearing");
constexpr uint32_t kMaxBatchSize = 10;

namespace motor_log {

constexpr size_t kPageSize = 8192;  // room for five windows
constexpr uint32_t kPages = 6;
constexpr uint32_t kSeconds = 8;
constexpr uint32_t kHop = 128;  // half a window
// One g is 4096, as a sensor of 16 bits with a range of 8 g says it.
constexpr SampleLogConfig kConfig = {kPages, kModel.SampleShape(), SampleElement::kInt16,
                                     1.0f / 4096};

struct Flash {
  uint8_t bytes[kPages][kPageSize];

  static uint8_t* At(void* context, uint32_t page, size_t offset) {
    return static_cast<Flash*>(context)->bytes[page] + offset;
  }
  static Status Read(void* context, uint32_t page, size_t offset, MutableByteSpan out) {
    __builtin_memcpy(out.data(), At(context, page, offset), out.size());
    return Status::kOk;
  }
  static Status Erase(void* context, uint32_t page) {
    __builtin_memset(At(context, page, 0), 0xff, kPageSize);
    return Status::kOk;
  }
  static Status Program(void* context, uint32_t page, size_t offset, ByteSpan bytes) {
    __builtin_memcpy(At(context, page, offset), bytes.data(), bytes.size());
    return Status::kOk;
  }
};

inline Status Record(SampleLog* log) {
  static uint8_t window[kConfig.SampleBytes()];
  Windower windower(log, vibration::kAxes, kHop, window);
  vibration::Motor motor(SOTTO_MACHINE);
  Status status = log->Open();
  for (uint32_t t = 0; t < kSeconds * vibration::kRate && status == Status::kOk; ++t) {
    const vibration::Reading reading = motor.Read();
    status = windower.Push(reading.g);
  }
  return status;
}

}  // namespace motor_log

inline SampleSource DeviceSamples() {
  using namespace motor_log;
  static Flash flash;
  static SampleLog log({Flash::Read, Flash::Erase, Flash::Program, &flash, kPageSize}, kConfig);
  static uint32_t marks[kConfig.SnapshotWords(kPageSize)];
  static SampleSnapshot snapshot(&log, kModel, marks);
  static const Status recorded = Record(&log);
  // From here on each round takes the snapshot by itself.
  if (recorded != Status::kOk || snapshot.Take() != Status::kOk) return {};
  const SampleSource samples = snapshot.source();
  snapshot.Release();
  return samples;
}

}  // namespace sotto
