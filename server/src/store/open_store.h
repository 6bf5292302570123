// Opens a store by its name: the one place that knows which kinds of store there are. Part of
// sotto::server/store.
#ifndef SOTTO_STORE_OPEN_STORE_H_
#define SOTTO_STORE_OPEN_STORE_H_

#include <memory>
#include <string>

#include "store/store.h"

namespace sotto::server {

// Opens a store.
//   where  a name with the scheme of a kind of store, or else the path of an SQLite file
// Throws std::runtime_error for a store that others may read, that another process uses and cannot
// share, or that is no store.
std::unique_ptr<Store> OpenStore(const std::string& where, StoreMode mode = StoreMode::kExisting);

}  // namespace sotto::server

#endif  // SOTTO_STORE_OPEN_STORE_H_
