// Opens the tables of a SQLite store, and converts the tables of older versions. Part of
// sotto::server/store.
//
// SQLite's user_version holds the version, and its application_id marks the file as Sotto's. The
// versions themselves are in sqlite_versions.h.
//
// One thread at a time for each database.
#ifndef SOTTO_STORE_SQLITE_SCHEMA_H_
#define SOTTO_STORE_SQLITE_SCHEMA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "store/sqlite.h"
#include "store/sqlite_chain.h"
#include "store/store.h"

namespace sotto::server {

// The file that the server of a store keeps locked. It is beside the store's file, whatever link
// names that.
std::string ServingFile(const std::string& path);

// What ReadSchema() found.
struct StoreFacts {
  int64_t version = 0;
  std::optional<ChainHead> chain;  // absent in versions without a chain
};

// Verifies a store and changes nothing: the version, the file's structure, the tables, the chain.
// Throws as OpenSchema() does.
StoreFacts ReadSchema(Database& database);

// Creates the tables of a new store in an empty database, without any record.
void MakeTables(Database& database);

// Makes the database ready for use: durable commits, foreign keys, the newest tables, and a chain
// without a break. After each commit the file alone holds everything. A journal that is lost can
// undo nothing: it matters only to a commit that a kill or a power failure interrupts. An older
// file is converted version by version in one transaction, if it is sound. Programs of the older
// version then refuse the file. Throws std::runtime_error that names the file if the file is newer,
// foreign or damaged, if it is empty and the mode is not kCreate, or if it can only be read and the
// mode is not kRead. Nothing is written to a file unless it is a store or empty.
void OpenSchema(Database& database, StoreMode mode);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_SCHEMA_H_
