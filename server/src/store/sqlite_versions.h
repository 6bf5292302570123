// Every version of a SQLite store's tables, each frozen as text. Part of sotto::server/store.
//
// The text of a version never changes after a release of Sotto has written it. To change the
// tables, add a row to kSchemaVersions with all tables of the new version and the conversion from
// the version before it; add a file of the former version to tests/vectors; add its test.
//
// Constants: safe from any thread.
#ifndef SOTTO_STORE_SQLITE_VERSIONS_H_
#define SOTTO_STORE_SQLITE_VERSIONS_H_

#include <cstdint>

#include "store/sqlite.h"

namespace sotto::server {

// One version. The conversion from the version before it runs three texts in this order:
//   put_aside  renames the former tables to former_NAME
//   tables     creates all tables of this version
//   copy       fills them, column by column by name
// and then `finish`. A new store runs `tables` and `finish` of the newest version.
// No former table is left at the end, so the schema equals the schema of a new store.
struct SchemaVersion {
  int64_t version = 0;
  const char* put_aside = "";  // empty for the first version
  const char* tables = "";
  const char* copy = "";
  // Writes what SQL cannot compute; null: nothing.
  void (*finish)(Database& database, int64_t former_version) = nullptr;
};

inline constexpr int64_t kSchemaVersion = 6;  // of a new store
extern const SchemaVersion kSchemaVersions[kSchemaVersion];

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSIONS_H_
