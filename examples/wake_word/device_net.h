// A home's board in a job: the named net ds-cnn, and recordings of sotto-shard in flash. For
// SOTTO_DEVICE_NET of examples/cortex_m; nets/softmax.h there says what such a header gives. Part
// of examples/wake_word.
#pragma once

#include "shard.h"
#include "sotto/models.h"

namespace sotto {

using Net = DsCnn;
constexpr ModelInfo kModel = MakeModelInfo<Net>("ds-cnn", kDsCnnClasses);
constexpr uint32_t kMaxBatchSize = 8;

inline SampleSource DeviceSamples() { return FlashSamples(kModel); }

}  // namespace sotto
