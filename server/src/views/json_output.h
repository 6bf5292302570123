// Writes machine-readable results. Part of sotto::server/views.
#pragma once

#include <cstdio>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "views/output_file.h"

namespace sotto::server {

// Where text for people goes: to standard output, or to standard error if --json selects that.
std::FILE* TextStream(const std::string& json_path);

// Writes to the file of --json, as OutputFile does, to standard output for "-", or nowhere for an
// empty path. Throws std::runtime_error if the write fails.
void WriteJson(const std::string& path, const nlohmann::ordered_json& json,
               Readers readers = Readers::kAll);

// Prints the results for people and writes them as JSON.
void PrintResults(const std::string& json_path, const std::string& text,
                  const nlohmann::ordered_json& json, Readers readers = Readers::kAll);

}  // namespace sotto::server
