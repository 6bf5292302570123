// Writes machine-readable results. Part of sotto::server/views.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "views/output_file.h"

namespace sotto::server {

// True if --json selects standard output. Text for people then goes to standard error.
bool IsStandardOutput(const std::string& path);

// Writes to the file of --json, as OutputFile does, to standard output for "-", or nowhere for an
// empty path. Throws std::runtime_error if the write fails.
void WriteJson(const std::string& path, const nlohmann::ordered_json& json,
               Readers readers = Readers::kAll);

}  // namespace sotto::server
