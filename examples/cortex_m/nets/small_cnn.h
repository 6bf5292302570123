// A convolutional net of 9,098 parameters on the images of sotto-shard, for a board with 192 kB of
// RAM. Part of examples/cortex_m; nets/softmax.h says what such a header gives.
#pragma once

#include "shard.h"
#include "sotto/models.h"

namespace sotto {

using Net = SmallCnn;
constexpr ModelInfo kModel = MakeModelInfo<Net>("small-cnn");
constexpr uint32_t kMaxBatchSize = 16;

inline SampleSource DeviceSamples() { return FlashSamples(kModel); }

}  // namespace sotto
