// Every version of a SQLite store's tables, each frozen as text. Part of sotto::server/store.
//
// No text here is ever changed once a release of Sotto has written it. To change the tables: add a
// row to kSchemaVersions with all tables of the new version and the conversion from the version
// before it, a file of the former version to tests/vectors, and its test.
#ifndef SOTTO_STORE_SQLITE_VERSIONS_H_
#define SOTTO_STORE_SQLITE_VERSIONS_H_

#include <cstdint>

namespace sotto::server {

// A conversion from the version before runs put_aside, then tables, then copy: it renames the
// former tables to former_NAME, creates all of its own, and fills them, column by column by name.
// At its end no former table is left, so the schema is that of a new store.
struct SchemaVersion {
  int64_t version = 0;
  const char* put_aside = "";  // empty for the first version
  const char* tables = "";
  const char* copy = "";
};

inline constexpr int64_t kSchemaVersion = 3;  // of a new store
extern const SchemaVersion kSchemaVersions[kSchemaVersion];

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSIONS_H_
