// What devices download of a job's models, from its store. Part of sotto::server/store.
//
// One thread at a time, that of the store.
#pragma once

#include <memory>

#include "downloads/model_codes.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

// The codes of a job's models with those of its releases that devices may hold: the last
// kMostHeldModels that the store has. No model is published yet. Throws as the store does.
std::shared_ptr<ModelCodes> ReadCodes(Store& store, const JobEntry& job);

}  // namespace sotto::server
