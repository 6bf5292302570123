// Opens a store by its name. The table in open_store.cc is the only list of the kinds of store.
// Part of sotto::server/store.
//
// Reentrant: safe from any thread.
#ifndef SOTTO_STORE_OPEN_STORE_H_
#define SOTTO_STORE_OPEN_STORE_H_

#include <memory>
#include <string>

#include "store/store.h"

namespace sotto::server {

// Opens a store.
//   where  a name with the prefix of a kind of store, or else the path of an SQLite file
// Throws std::runtime_error if other users may read the store, if another process uses it and it
// cannot be shared, or if it is no store.
std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode = StoreMode::kExisting);

}  // namespace sotto::server

#endif  // SOTTO_STORE_OPEN_STORE_H_
