// A net of one's own on windows of a sensor, and how they are read: convolutions over 128 steps of
// an accelerometer's three axes, six activities, 3,046 parameters. Part of examples/cortex_m;
// nets/softmax.h says what such a header gives.
#pragma once

#include "nets/window_log.h"
#include "sotto/nn.h"

namespace sotto {

using Net =
    nn::Sequential<nn::Input<kSteps, kAxes>, nn::Conv1d<16, 5, 2>, nn::Relu, nn::Conv1d<32, 5, 2>,
                   nn::Relu, nn::GlobalAverage2d, nn::Dense<32, kActivities>>;
constexpr ModelInfo kModel = MakeModelInfo<Net>("windows");
constexpr uint32_t kMaxBatchSize = 10;

static_assert(Net::kInputs == kSteps * kAxes && Net::kClasses == kActivities);

// Features lie as the net's input does, [step][axis], the last one fastest. A net learns best from
// numbers of about 1: here 1 g.
inline Status ReadWindow(void*, uint32_t index, Span<float> features, uint32_t* label) {
  const LoggedWindow& window = kWindowLog.windows[index];
  *label = window.activity;
  for (uint32_t step = 0; step < kSteps; ++step) {
    for (uint32_t axis = 0; axis < kAxes; ++axis) {
      features[step * kAxes + axis] = static_cast<float>(window.raw[step][axis]) * (1.0f / kOneG);
    }
  }
  return Status::kOk;
}

inline SampleSource DeviceSamples() { return {kLoggedWindows, ReadWindow, nullptr}; }

}  // namespace sotto
