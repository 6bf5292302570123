// The net of the firmware and its samples: softmax regression on the images of sotto-shard. Part of
// examples/cortex_m.
//
// A header for SOTTO_DEVICE_NET, included by main.cc alone, gives four things:
//   kModel             the net as data, with the name that the board's log has for it
//   Net                its type: the memory of the firmware is counted from it
//   kMaxBatchSize      the largest mini-batch that a job may ask for; memory grows with it
//   DeviceSamples()    how samples are read; without a sample the firmware ends with status 2
#pragma once

#include "shard.h"
#include "sotto/models.h"

namespace sotto {

using Net = Softmax784x10;
constexpr ModelInfo kModel = MakeModelInfo<Net>("softmax-784-10");
constexpr uint32_t kMaxBatchSize = 16;

inline SampleSource DeviceSamples() { return FlashSamples(kModel); }

}  // namespace sotto
