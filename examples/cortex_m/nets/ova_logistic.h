// Ten logistic regressions on 50 features, one-vs-all, and samples of sotto-shard: a convex
// net, for firmware of nodes without a server. Part of examples/cortex_m. See softmax.h.
#pragma once

#include "shard.h"
#include "sotto/models.h"

namespace sotto {

using Net = OvaLogistic;
constexpr ModelInfo kModel = MakeModelInfo<Net>("ova-logistic");
constexpr uint32_t kMaxBatchSize = 50;

inline SampleSource DeviceSamples() { return FlashSamples(kModel); }

}  // namespace sotto
