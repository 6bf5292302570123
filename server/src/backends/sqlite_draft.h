// A new SQLite file with the tables of a store, whole before it has its name. Part of
// sotto::server/backends.
//
// Reentrant: safe from any thread. Errors are std::runtime_error and name the file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "backends/sql.h"

namespace sotto::server {

// Fills the empty tables of a new store, within one transaction. What it throws undoes them.
using FillTables = std::function<void(Database&)>;

// Makes a file of mode 0600, which must not be there yet. It is verified and durable before it has
// its name; until then it is FILE.part, and one that a killed process left is removed.
void MakeStoreFile(const std::string& file, const FillTables& fill);

// What killed processes left of such files in the folder of this one. Each holds every secret of a
// store.
std::vector<std::string> LeftoversBeside(const std::string& file);

}  // namespace sotto::server
