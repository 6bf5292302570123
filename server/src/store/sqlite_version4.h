// Version 4 of a SQLite store's tables, frozen: see sqlite_versions.h. Part of sotto::server/store.
//
// Each record is chained to the record before it (sqlite_chain.h). So no row ever changes: a
// revocation is a row of its own. The table `store` holds the key of the receipts that devices get
// (round/receipts.h).
//
// Constants: safe from any thread. BeginChain() as its database.
#ifndef SOTTO_STORE_SQLITE_VERSION4_H_
#define SOTTO_STORE_SQLITE_VERSION4_H_

#include <cstdint>

#include "store/sqlite.h"

namespace sotto::server {

extern const char kPutAside3[];
extern const char kTables4[];
extern const char kCopy3To4[];

// Fills the tables `store`, with a fresh key, and `chain`, with every record.
void BeginChain(Database& database, int64_t former_version);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSION4_H_
