// --fetch-only: the newest released model for a machine that takes part in nothing. Part of
// ports/posix/client.
#pragma once

#include "ending.h"
#include "options.h"
#include "reporter.h"
#include "sotto/model/model_file.h"
#include "sotto/posix/key_file.h"

namespace sotto::posix {

// Fetches the newest released model of a net into the folder of --keep-model: as the difference
// from the one that the folder holds, if it holds one. The server gets no Hello, so it counts the
// device among none that could be drawn. Tries until --give-up, without it once. Blocks. Throws
// where ModelKeeper() does, and std::runtime_error if this machine fails.
//   model  not null
// The ending is kDone once the folder holds the model; kNoServer without a server, or while nothing
// is released; kRefused if the server knows no released models, or none of this net, or refuses the
// key.
Ending FetchReleasedModel(const ClientOptions& options, const ModelInfo& model,
                          const DeviceKey& key, Reporter& reporter);

}  // namespace sotto::posix
