// The SQL layer (sql.h) over SQLite. Part of sotto::server/backends.
//
// One connection belongs to one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "backends/sql.h"
#include "sotto/posix/held_file.h"

struct sqlite3;

namespace sotto::server {

// Nobody keeps a store locked for longer than a commit or a short read, but a process that was
// suspended.
constexpr int kMostWaitMs = 60000;

class SqliteDatabase final : public Database {
 public:
  // Opens an existing file, which other connections and processes may use as well. An access that
  // meets another one's commit waits for it, kMostWaitMs at most; so does a commit that meets
  // another one's transaction. All memory that SQLite frees in this process is wiped, because its
  // pages hold secrets.
  explicit SqliteDatabase(const std::string& path, Access access = Access::kWrite);
  ~SqliteDatabase() override;

  // Every later commit is in the file itself and durable when it returns. The destructor removes
  // the empty journal; a killed process leaves it.
  void CommitToFile();

  // From now on every attempt to write fails.
  void ForbidWriting();

  void Run(const char* sql) override;

  // True if the file was opened to write and the system allows reading only.
  bool is_read_only() const;

  bool is_in_transaction() const override;
  // kWrite is BEGIN IMMEDIATE: it waits for other writers.
  void Begin(Kind kind) override;
  void Commit() override;
  // Calls ForgetPages(): the pages that were read may hold secrets, an index has a second copy of
  // each. SQLite keeps the pages of a statement under way.
  void End() noexcept override;
  std::unique_ptr<Prepared> Prepare(const std::string& sql) override;

  // Frees, and so wipes, the pages of the file that SQLite keeps in memory.
  void ForgetPages() noexcept;

  // Throws for the last error of this connection; `what` completes "cannot".
  [[noreturn]] void Fail(const std::string& what) const;

  const std::string& path() const { return name(); }
  sqlite3* handle() const { return handle_; }

  // The file that was opened, whatever its path names now. Null: a database in memory.
  posix::HeldFile* file() const { return file_.get(); }

 private:
  bool HasHalfDoneCommit() const;

  // It lives longer than the connection, whose locks the closing of any other descriptor drops.
  std::unique_ptr<posix::HeldFile> file_;
  sqlite3* handle_ = nullptr;
  bool has_journal_ = false;
};

}  // namespace sotto::server
