// The samples of this device, in flash: a file that the program sotto-shard wrote. Constant data.
// Part of examples/cortex_m.
#pragma once

#include "sotto/sample_source.h"

namespace sotto {

// Samples of `inputs` features each. The count is 0 if the file does not consist of such samples.
SampleSource FlashSamples(uint32_t inputs);

}  // namespace sotto
