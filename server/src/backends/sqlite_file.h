// The file of a SQLite store among processes and names: which process serves it, and whether its
// path still names it. Part of sotto::server/backends.
//
// One process serves a store. It locks the file's inode (sotto/posix/held_file.h), so neither
// another name of the file nor a removed one lets a second server in; and the file NAME-serving,
// which says its process id. A file with a second hard link is not served. A link that appears
// later, as of a backup by hard links, is a warning.
//
// Every refusal is a std::runtime_error that names the file and says what to do. One thread at a
// time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backends/sqlite.h"
#include "sotto/posix/lock_file.h"

namespace sotto::server {

class SqliteFile {
 public:
  // The database must be in a file, and must outlive this object.
  explicit SqliteFile(const Database& database) : database_(database) {}

  // Refuses if the path does not name the file any more that was opened.
  void RequireNamed() const;

  // Refuses if a server of another process uses the file by another name.
  void RequireServersName() const;

  // Makes this process the one that serves the store, until the destructor. Refuses if another one
  // does, or if the file has a second name.
  void Claim();

  // The process that serves the store, for people; absent: none.
  std::optional<std::string> Server() const;

  // What to say about a second name that has appeared since the last call; empty: nothing.
  std::string TakeWarning();

 private:
  const Database& database_;
  std::unique_ptr<posix::LockFile> serving_;  // from Claim() on
  bool has_links_ = false;                    // more names than one: told
};

}  // namespace sotto::server
