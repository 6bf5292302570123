// Opens a store by its name: the path of an SQLite file, or postgresql://, a database of
// PostgreSQL. open_store.cc has the only list of the kinds of store.
// Part of sotto::server/backends.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backends/sqlite_draft.h"
#include "store/store.h"

namespace sotto::server {

// Opens a store.
//   where  the path of an SQLite file, or postgresql://... (postgres.h)
// Throws std::runtime_error if other users may read the store, if it is no store or one of another
// version, or if it is damaged; StoreLost if its database cannot be reached;
// std::invalid_argument for a name that is none.
std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode = StoreMode::kExisting);

// Whether there is something of this name: a store, or a file that is none. Throws as OpenStore()
// for a database that cannot be reached.
bool StoreExists(const std::string& where);

// Makes a store of what `fill` writes: verified, and there as a whole or not at all. It must not be
// there yet.
void FillNewStore(const std::string& where, const FillTables& fill);

// The name by which the store is found from any folder.
std::string WholeName(const std::string& where);

// The path to which a server and `sotto store backup` add endings for their files of this store:
// the path of an SQLite file; for a database DATABASE.store in the working folder.
std::string FilesBeside(const std::string& where);

// The file with the key of the secrets in a database (store_key.h); empty: a store of this kind has
// none. A new store makes it, if it is not there.
std::string KeyFileOf(const std::string& where);

// The models of a job that the store has.
struct StoredModels {
  int64_t job = 0;
  std::vector<int64_t> rounds;  // ascending, from 0; kFirstModel: the one with which it began
};

// A store as it lies there.
struct StoreReport {
  int64_t version = 0;      // of its schema
  int64_t records = 0;      // each as it was written
  std::string last_record;  // for people
  std::string head;         // hash of the last record and so of all, hexadecimal digits
  int64_t devices = 0;
  int64_t eligible_devices = 0;
  int64_t jobs = 0;
  int64_t attempts = 0;
  int64_t releases = 0;
  int64_t evaluations = 0;
  std::vector<StoredModels> models;  // of each job
};

// Verifies a store and changes nothing. Throws as OpenStore().
StoreReport InspectStore(const std::string& where);

}  // namespace sotto::server
