// Gives a trained model the threshold of its prediction errors, where it lies: in a store, from
// where devices fetch it, or in its file. Part of sotto::server/cli.
#pragma once

#include <string>

#include "cli/model_source.h"

namespace sotto::server {

// Throws std::invalid_argument for a model that can have no threshold: one that tells classes
// apart, or with personal layers.
void RequireErrors(const ModelInfo& model);

// Throws std::invalid_argument for a source that has no place for a threshold: a file of parameters
// alone, or the model with which a job began.
void RequirePlaceForThreshold(const ModelSource& source, const OpenedModel& opened);

// Attaches it, in place of the one that the model has, and returns what was done, for people. A
// file is replaced as a whole, by what `sotto model export` writes in its format. Throws as the
// functions above, for a threshold that is not above 0, and where writing fails.
std::string AttachThreshold(const ModelSource& source, OpenedModel opened, float threshold);

}  // namespace sotto::server
