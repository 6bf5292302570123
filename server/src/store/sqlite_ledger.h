// The tables `facts` and `claims` of a SQLite store: the privacy ledger. Part of
// sotto::server/store.
//
// One thread at a time for each database.
#pragma once

#include <cstdint>
#include <vector>

#include "round/job_log.h"
#include "store/records.h"
#include "store/sqlite.h"

namespace sotto::server {

// Writes a release's facts and claims, in the transaction of the release itself.
//   job     number of the job that releases
//   seeded  noise that the claims rest on derives from a seed
// Throws std::runtime_error if the rows cannot be written.
void AddToLedger(Database& database, int64_t job, const ReleaseRecord& record, bool seeded);

// All entries, by job and round. Throws std::runtime_error that names the file if a stored name,
// for example an adversary's, is unknown.
std::vector<LedgerEntry> ReadLedger(Database& database);

}  // namespace sotto::server
