// The tables of a store and their versions. Part of sotto::server/store.
//
// The version is SQLite's user_version, today 2; its application_id marks the file as Sotto's. To
// change the tables: raise kVersion in schema.cc, add a step to Migrate() that turns the former
// version into the new one, and a test with a file of the former version (tests/vectors).
#ifndef SOTTO_STORE_SCHEMA_H_
#define SOTTO_STORE_SCHEMA_H_

#include "store/sqlite.h"

namespace sotto::server {

// Makes the database ready for use: durable commits, foreign keys, tables of today's version. An
// older file is brought to it in one transaction; programs of that time then refuse it. Throws
// std::runtime_error that names the file for a newer one, a foreign one, a damaged one, and unless
// may_create for an empty one. Nothing is written to a file that is not known to be a store or
// empty.
void OpenSchema(Database& database, bool may_create);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SCHEMA_H_
