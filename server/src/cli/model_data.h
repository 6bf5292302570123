// The samples that `sotto model evaluate` and `predict` read. Part of sotto::server/cli.
#pragma once

#include <string>

#include "sotto/data/dataset.h"
#include "sotto/model_info.h"

namespace sotto::server {

enum class Labels { kNeeded, kIgnored };

// The samples that --data names: of a data set of two parts those for the test, of a file all. If
// labels are ignored, a table without a column for them is fine. Throws std::invalid_argument or
// std::runtime_error, also for samples that the model does not take.
SharedDataset OpenSamples(const std::string& data, const ModelInfo& model, Labels labels);

}  // namespace sotto::server
