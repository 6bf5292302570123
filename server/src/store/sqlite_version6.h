// Version 6 of a SQLite store's tables, frozen: see sqlite_versions.h. Part of sotto::server/store.
//
// The evaluation of a released model on the operator's test set is a record of its own, in the
// tables `evaluations` and `evaluated_classes`. All records of version 5 have the same values and
// the same hashes as before, so the chain is copied, and receipts that devices hold stay good.
//
// Constants: safe from any thread.
#ifndef SOTTO_STORE_SQLITE_VERSION6_H_
#define SOTTO_STORE_SQLITE_VERSION6_H_

namespace sotto::server {

extern const char kPutAside5[];
extern const char kTables6[];
extern const char kCopy5To6[];

// Of a store of version 4 or 5: that it has no evaluations, as temporary views that look like the
// tables of version 6.
extern const char kEvaluationsOfVersion5[];

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSION6_H_
