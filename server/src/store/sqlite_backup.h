// Backs a SQLite store up while other processes use it. Part of sotto::server/store.
//
// A store is a log of records that never change, so a copy of its records one by one is a copy of
// one moment: that of the last record. Between two pieces other processes commit.
//
// Reentrant: safe from any thread.
#pragma once

#include <string>

#include "store/sqlite_chain.h"

namespace sotto::server {

// See BackUpStore() in open_store.h.
ChainHead BackUpSqliteStore(const std::string& path, const std::string& file);

}  // namespace sotto::server
