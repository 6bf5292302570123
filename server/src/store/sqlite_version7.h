// Version 7 of a SQLite store's tables, frozen: see sqlite_versions.h. Part of sotto::server/store.
//
// A fleet may change while a job runs: a device's secret is exchanged (`rotations`), the number of
// eligible devices changes (`fleets`), rounds are added to a job's plan (`extensions`), a job
// pauses (`pauses`). Each is a record of its own, so all records of version 6 have the same values
// and the same hashes as before: the chain goes on, and receipts that devices hold stay good.
//
// Constants: safe from any thread.
#ifndef SOTTO_STORE_SQLITE_VERSION7_H_
#define SOTTO_STORE_SQLITE_VERSION7_H_

namespace sotto::server {

// The tables beside those of version 6.
extern const char kTablesSince6[];

// Of a store of versions 4 to 6: that it has nothing in these tables, as temporary views that look
// like them.
extern const char kFleetChangesOfVersion6[];

}  // namespace sotto::server

#endif  // SOTTO_STORE_SQLITE_VERSION7_H_
