// A store in a SQLite file, among processes and names: which process serves it, and whether its
// path still names it. Part of sotto::server/backends.
//
// Every commit is on the disk, in the file itself, before the call returns (rollback journal in
// mode TRUNCATE, synchronous = EXTRA). A write-ahead log would hold the last commits in a second
// file, and a store that lost it would look like an older store: no jobs, nothing spent.
//
// The file holds the devices' secrets without encryption. Mode 0600 is enforced: no epsilon holds
// against a reader of the file who also has the bytes of an update (sdk/LRQ.md, section 8.1).
//
// Many processes may use the file at once. A commit and a read wait for each other, so nothing
// keeps the file locked for long: a verification reads the chain in pieces (sql_chain.h). Opening a
// store reads the whole file twice, to find damage.
//
// One process serves a store. It locks the file's inode (sotto/posix/held_file.h), so neither
// another name of the file nor a removed one lets a second server in; and the file NAME-serving,
// which says its process id. A file with a second hard link is not served. A link that appears
// later, as of a backup by hard links, is a warning. Before each commit the path must still name
// the file that was opened.
//
// A plain copy of the file is a backup only while no process uses it, and if no file NAME-journal
// with something in it lies beside it: a kill or a power failure leaves one, and every program that
// opens the store undoes it.
//
// The pages of deleted models are used again for later models: the file does not grow, and it does
// not shrink.
//
// Every refusal is a std::runtime_error that names the file and says what to do. One thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/sqlite.h"
#include "backends/store_place.h"
#include "sotto/posix/lock_file.h"

namespace sotto::server {

class SqlitePlace final : public StorePlace {
 public:
  // Throws if other users may read the file, or if it is no store (sqlite_schema.h).
  SqlitePlace(const std::string& path, StoreMode mode);

  Database& database() override { return database_; }
  const ChainHead& head() const override { return head_; }

  // Refuses if the path does not name the file any more that was opened, or if a server of another
  // process uses the file by another name.
  void RequireHere() override;
  void RequireStillHere() override { RequireNamed(); }

  // Refuses if another process serves the store, or if the file has a second name.
  void Claim() override;
  std::optional<std::string> Server() override;

  // What to say about a second name that has appeared since the last call.
  std::string TakeWarning() override;

 private:
  void RequireNamed() const;
  void RequireServersName() const;

  SqliteDatabase database_;
  ChainHead head_;
  std::unique_ptr<posix::LockFile> serving_;  // from Claim() on
  bool has_links_ = false;                    // more names than one: told
};

}  // namespace sotto::server
