// Opens a store by its name. The table in open_store.cc is the only list of the kinds of store.
// Part of sotto::server/backends.
//
// Reentrant: safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "store/store.h"

namespace sotto::server {

// Opens a store.
//   where  a name with the prefix of a kind of store, or else the path of an SQLite file
// Throws std::runtime_error if other users may read the store, if it is no store or one of another
// version, or if it is damaged.
std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode = StoreMode::kExisting);

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

// The end of a store's log, and so of a copy of it.
struct LogEnd {
  int64_t records = 0;
  std::string last_record;  // for people
  std::string head;         // hash of the last record and so of all, hexadecimal digits
  int64_t attempts = 0;     // of all jobs
  // Of a backup: files in its folder that killed backups left. Each holds every secret.
  std::vector<std::string> leftovers = {};
};

// Files in the folder of a store that killed backups left. Each holds every secret of a store. Call
// it before the store is opened: it opens and closes those files.
std::vector<std::string> BackupLeftovers(const std::string& where);

// Copies a store into a new file of mode 0600, also while other processes use the store: they do
// not wait. The copy is the store at one moment within the call, and verified. Until it is whole it
// is FILE.part; one that a killed backup left is removed. Throws as OpenStore(), and if the file is
// there already.
LogEnd BackUpStore(const std::string& where, const std::string& file);

// Verifies a store and changes nothing. Throws as OpenStore().
StoreReport InspectStore(const std::string& where);

}  // namespace sotto::server
