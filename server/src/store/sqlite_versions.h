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
#include <string>

#include "store/sqlite.h"

namespace sotto::server {

// One version. The conversion from the version before it runs three texts in this order:
//   put_aside  renames the former tables to former_NAME
//   tables     creates all tables of this version; with `adds`, those that it has beside the
//              tables of the version before it
//   copy       fills them, column by column by name
// and then `finish`. No former table is left at the end, so the schema equals the schema of a new
// store.
struct SchemaVersion {
  int64_t version = 0;
  const char* put_aside = "";  // empty: the tables of the version before it stay as they are
  const char* tables = "";
  const char* copy = "";
  // Writes what SQL cannot compute; null: nothing.
  void (*finish)(Database& database, int64_t former_version) = nullptr;
  bool adds = false;
};

inline constexpr int64_t kSchemaVersion = 7;  // of a new store
extern const SchemaVersion kSchemaVersions[kSchemaVersion];

// The text that creates all tables of a version.
std::string TablesOf(int64_t version);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSIONS_H_
