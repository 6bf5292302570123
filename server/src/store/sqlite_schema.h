// Opens the tables of a SQLite store, and converts those of older versions. Part of
// sotto::server/store.
//
// The version is SQLite's user_version; its application_id marks the file as Sotto's. The versions
// themselves are in sqlite_versions.h.
#ifndef SOTTO_STORE_SQLITE_SCHEMA_H_
#define SOTTO_STORE_SQLITE_SCHEMA_H_

#include "store/sqlite.h"

namespace sotto::server {

// Makes the database ready for use: durable commits, foreign keys, the newest tables. An older file
// is converted version by version in one transaction; programs of that time then refuse it. Throws
// std::runtime_error that names the file for a newer one, a foreign one, a damaged one, and unless
// may_create for an empty one. Nothing is written to a file that is not known to be a store or
// empty.
void OpenSchema(Database& database, bool may_create);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_SCHEMA_H_
