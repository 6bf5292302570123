// Where the tables of a store lie: its database, which process serves it, and whether it is still
// the one that was opened. Part of sotto::server/backends.
//
// sqlite_place.h and postgres_place.h implement it. Every refusal is a std::runtime_error that
// names the store and says what to do. One thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/sql.h"
#include "backends/sql_chain.h"
#include "store/store.h"

namespace sotto::server {

class StorePlace {
 public:
  virtual ~StorePlace() = default;

  // Verified, with the tables of sql_tables.h.
  virtual Database& database() = 0;

  // The chain's end when it was verified.
  virtual const ChainHead& head() const = 0;

  // Within a transaction that writes, at its beginning and before its commit: refuses if this is
  // not the store any more that was opened, or if a server that this process is not must write it.
  virtual void RequireHere() = 0;
  virtual void RequireStillHere() = 0;

  // Within a transaction: throws StoreLost if this process has claimed the store and another one
  // has taken it over.
  virtual void RequireServer() {}

  // As Store::ClaimJobs(), Server() and TakeWarning() say.
  virtual void Claim() = 0;
  virtual std::optional<std::string> Server() = 0;
  virtual std::string TakeWarning() { return ""; }
};

}  // namespace sotto::server
