// The tables `facts` and `claims` of a SQLite store: the privacy ledger. Part of
// sotto::server/store.
#ifndef SOTTO_STORE_SQLITE_LEDGER_H_
#define SOTTO_STORE_SQLITE_LEDGER_H_

#include <cstdint>
#include <vector>

#include "round/job_log.h"
#include "store/records.h"
#include "store/sqlite.h"

namespace sotto::server {

// Writes a release's facts and claims, in the transaction of the release itself.
//   job     number of the job that releases
//   seeded  noise that the claims rest on derives from a seed
// Throws std::runtime_error if they cannot be written.
void AddToLedger(Database& database, int64_t job, const ReleaseRecord& record, bool seeded);

// All entries, by job and round. Throws std::runtime_error that names the file for a word that no
// table of privacy's names has.
std::vector<LedgerEntry> ReadLedger(Database& database);

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_LEDGER_H_
