// What a SQLite store has of each release beside its model: the privacy ledger in the tables
// `facts` and `claims`, evaluations in `evaluations` and `evaluated_classes`, and what was seen of
// attempts in `round_records`. Part of sotto::server/backends.
//
// One thread at a time for each database.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/sql.h"
#include "round/job_log.h"
#include "store/records.h"

namespace sotto::server {

// Writes a release's facts and claims, in the transaction of the release itself.
//   job     number of the job that releases
//   seeded  noise that the claims rest on derives from a seed
// Throws std::runtime_error if the rows cannot be written.
void AddToLedger(Database& database, int64_t job, const ReleaseRecord& record, bool seeded);

// All entries, by job and round. Throws std::runtime_error that names the file if a stored name,
// for example an adversary's, is unknown.
std::vector<LedgerEntry> ReadLedger(Database& database);

// Writes the rows of an evaluation, within a transaction. Throws std::runtime_error if they cannot
// be written, for example because the round has an evaluation already.
void AddEvaluation(Database& database, const StoredEvaluation& evaluation);

// All evaluations, by job and round.
std::vector<StoredEvaluation> ReadEvaluations(Database& database);

// The same of what was seen of attempts; AddFigures() appends it to the chain.
void AddFigures(Database& database, int64_t job, const RoundRecord& record);
std::vector<RoundRecord> ReadFigures(Database& database);

}  // namespace sotto::server
