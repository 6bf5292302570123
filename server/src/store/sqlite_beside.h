// Reads an SQLite store beside the server that writes to it. Part of sotto::server/store.
//
// That server has the file for itself, so nobody else gets a lock. It writes to the file within
// commits alone, of some milliseconds each; between them its journal is empty. So what was read
// while the journal was empty and the file's time stayed the same is of one moment. Should two
// moments mix all the same, the chain of the records shows it: every record that is read is
// verified.
#ifndef SOTTO_STORE_SQLITE_BESIDE_H_
#define SOTTO_STORE_SQLITE_BESIDE_H_

#include <functional>
#include <string>

#include "store/store.h"

namespace sotto::server {

// See ReadStore() in open_store.h. A commit that stays half done, and a store of an older version,
// need the file for this process.
void ReadSqliteStore(const std::string& path, const std::function<void(Store&)>& read);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_BESIDE_H_
