// The tables `evaluations` and `evaluated_classes` of a SQLite store. Part of sotto::server/store.
//
// One thread at a time for each database.
#pragma once

#include <vector>

#include "store/records.h"
#include "store/sqlite.h"

namespace sotto::server {

// Writes the rows of an evaluation, within a transaction. Throws std::runtime_error if they cannot
// be written, for example because the round has an evaluation already.
void AddEvaluation(Database& database, const StoredEvaluation& evaluation);

// All evaluations, by job and round.
std::vector<StoredEvaluation> ReadEvaluations(Database& database);

}  // namespace sotto::server
