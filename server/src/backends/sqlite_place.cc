#include "backends/sqlite_place.h"

#include <cstdint>
#include <fmt/format.h>

#include "backends/sqlite_schema.h"
#include "sotto/posix/files.h"

namespace sotto::server {
namespace {

// Prepares the file for SQLite, which would create a file that all users can read. Returns the
// path.
const std::string& Prepare(const std::string& path, StoreMode mode) {
  if (mode == StoreMode::kCreate) posix::CreatePrivateFile(path);
  posix::RequirePrivateFile(path);
  return path;
}

}  // namespace

SqlitePlace::SqlitePlace(const std::string& path, StoreMode mode)
    : database_(Prepare(path, mode)), head_(OpenSchema(database_, mode)) {
  if (mode == StoreMode::kRead) database_.ForbidWriting();
}

void SqlitePlace::RequireHere() {
  RequireNamed();
  RequireServersName();
}

void SqlitePlace::RequireNamed() const {
  if (database_.file()->IsNamed()) return;
  database_.Refuse(
      "its path no longer names the file that was opened: another file has replaced it, or it was "
      "removed. The program writes nothing more. Restore the store that was used last, and start "
      "again");
}

// SQLite names its journal after the file. By a second name it would not find what a killed program
// left half written under the first one, and the server would not find what is left under this one.
void SqlitePlace::RequireServersName() const {
  const posix::HeldFile& file = *database_.file();
  if (serving_ != nullptr || file.names() < 2 || !file.IsClaimedByAnother()) return;
  if (posix::LockFile::HolderOf(ServingFile(database_.path()))) return;
  database_.Refuse(
      "a server uses this file by another name (a hard link), and only by that one may it be "
      "written meanwhile; name the store as the server does, or remove all names but the server's");
}

void SqlitePlace::Claim() {
  if (serving_ != nullptr) return;
  if (const uint64_t names = database_.file()->names(); names > 1) {
    database_.Refuse(fmt::format(
        "the file has {} names (hard links), and a change under one is a change under all; find "
        "them with `find FOLDER -samefile {}` and remove all but one (a backup is `sotto store "
        "backup`, or a copy), then start again",
        names, database_.path()));
  }
  try {
    serving_ = std::make_unique<posix::LockFile>(ServingFile(database_.path()));
  } catch (const posix::FileIsLocked& error) {
    database_.Refuse(
        fmt::format("process {} serves it already; stop that one first, or name another store",
                    error.holder()));
  }
  if (database_.file()->Claim()) return;
  serving_.reset();
  database_.Refuse(
      fmt::format("another process serves it already, although {} does not say which: that file "
                  "was removed, or the other one serves the store by another name; stop that one "
                  "first",
                  ServingFile(database_.path())));
}

std::optional<std::string> SqlitePlace::Server() {
  std::optional<std::string> holder = posix::LockFile::HolderOf(ServingFile(database_.path()));
  if (!holder && database_.file()->IsClaimedByAnother()) holder = "unknown";
  return holder;
}

std::string SqlitePlace::TakeWarning() {
  const bool had_links = has_links_;
  has_links_ = database_.file()->names() > 1;
  if (!has_links_ || had_links) return "";
  return fmt::format(
      "{}: the file has a second name (a hard link), and a change under that one is a change "
      "of this store. If it is a backup, make it by `sotto store backup`",
      database_.path());
}

}  // namespace sotto::server
