// The files that sotto-client writes at its end: --json and --model-out. Part of
// ports/posix/client.
//
// Both are replaced as a whole, so a reader finds the old contents or the new ones. Stateless.
#pragma once

#include <string>

#include "device.h"
#include "ending.h"
#include "options.h"
#include "peer_device.h"
#include "reporter.h"
#include "sotto/model_info.h"

namespace sotto::posix {

// Checks before any work that both can be written: regular files or none, in folders that can be
// written to, and none that the client reads or writes elsewise. The same for --ledger, if it may
// be written. Throws std::invalid_argument that names the option, or a FileError.
void RequireOutputs(const ClientOptions& options);

// The results as one JSON object and a line end. README.md lists the members.
//   device_id  its name in the key file
std::string ResultsText(const ClientOptions& options, const std::string& device_id,
                        const Ending& ending, Device& device, const Totals& totals);
std::string ResultsText(const ClientOptions& options, const std::string& device_id,
                        const Ending& ending, const PeerDevice& device, const PeerTotals& totals);

// Writes ResultsText() to the file of --json, for its owner alone.
void WriteResults(const ClientOptions& options, const std::string& results);

// Writes a model to a file: float32, little endian, as `sotto serve --model-out` does.
//   path  empty: nothing is written
void WriteModel(const std::string& path, Span<const float> parameters);

}  // namespace sotto::posix
