// What devices download of a job's models, from its store. Part of sotto::server/store.
//
// One thread at a time, the store's.
#pragma once

#include <memory>

#include "downloads/model_codes.h"
#include "store/records.h"
#include "store/store.h"

namespace sotto::server {

// The codes of a job's models. Devices may hold the last kMostHeldModels releases that the store
// has. No model is published yet. Throws as the store does.
std::shared_ptr<ModelCodes> ReadCodes(Store& store, const JobEntry& job);

}  // namespace sotto::server
