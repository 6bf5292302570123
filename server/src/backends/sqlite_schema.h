// Opens the tables of a SQLite store, and refuses every other file. Part of sotto::server/backends.
//
// SQLite's application_id marks the file as Sotto's, and its user_version holds the version of the
// schema. A program reads and writes one version: kSchemaVersion of sql_tables.h.
//
// One thread at a time for each database.
#pragma once

#include <string>

#include "backends/sql_chain.h"
#include "backends/sqlite.h"
#include "store/store.h"

namespace sotto::server {

// The file that the server of a store keeps locked. It is beside the store's file, whatever link
// names that.
std::string ServingFile(const std::string& path);

// Verifies a store and changes nothing: the version, the file's structure, the tables, the chain.
// Returns the chain's end. Throws as OpenSchema() does.
ChainHead ReadSchema(SqliteDatabase& database);

// Creates the tables of a new store in an empty database, without any record.
void MakeTables(SqliteDatabase& database);

// Makes the database ready for use: durable commits, foreign keys, and a chain without a break; an
// empty database becomes a new store if the mode is kCreate. After each commit the file alone holds
// everything. A journal that is lost can undo nothing: it matters only to a commit that a kill or a
// power failure interrupts. Returns the chain's end.
//
// Throws std::runtime_error that names the file if it is damaged, of another program or of another
// version of the schema, if it is empty and the mode is not kCreate, or if it can only be read and
// the mode is not kRead. Nothing is written to a file unless it is a store or empty.
ChainHead OpenSchema(SqliteDatabase& database, StoreMode mode);

}  // namespace sotto::server
