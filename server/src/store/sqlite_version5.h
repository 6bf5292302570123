// Version 5 of a SQLite store's tables, frozen: see sqlite_versions.h. Part of sotto::server/store.
//
// A model is a row of the table `models`, apart from its release: older models can be deleted
// (sqlite_chain.h), and the model with which a job begins is there too. All records of version 4
// have the same values and the same hashes as before, so the chain is copied, and receipts that
// devices hold stay good.
//
// Constants: safe from any thread. BeginNewChain() as its database.
#ifndef SOTTO_STORE_SQLITE_VERSION5_H_
#define SOTTO_STORE_SQLITE_VERSION5_H_

#include <cstdint>

#include "store/sqlite.h"

namespace sotto::server {

inline constexpr int64_t kFirstVersionWithChain = 4;

extern const char kPutAside4[];
extern const char kTables5[];
extern const char kCopy4To5[];

// Of a store of version 4: its models, as a temporary view that looks like the table of version 5.
extern const char kModelsOfVersion4[];

// BeginChain() for a new store, and for one of a version that had no chain.
void BeginNewChain(Database& database, int64_t former_version);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSION5_H_
