// The samples of this device, in flash: a file that the program sotto-shard wrote. Constant data.
// Part of examples/cortex_m.
#pragma once

#include "sotto/model_info.h"
#include "sotto/sample_source.h"

namespace sotto {

// Checks the file at the first call. If the model cannot train on it, the log says why, and the
// count is 0.
SampleSource FlashSamples(const ModelInfo& model);

}  // namespace sotto
