// `sotto status --verify`: verifies every record of a store. Part of sotto::server/cli.
#pragma once

#include <string>

namespace sotto::server {

// Only reads the store, prints what it holds, and writes the same as JSON to a file; empty: none.
// Throws std::runtime_error that names the last good record if the store is damaged.
void VerifyStore(const std::string& store, const std::string& json);

}  // namespace sotto::server
