#include "store/sqlite_beside.h"

#include <chrono>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <thread>

#include "sotto/posix/files.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"
#include "store/sqlite_versions.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

constexpr int kAttempts = 100;
constexpr auto kPause = std::chrono::milliseconds(20);

// A state of the file.
struct Moment {
  fs::file_time_type written;
  bool is_within_commit = false;

  bool operator==(const Moment& other) const {
    return written == other.written && is_within_commit == other.is_within_commit;
  }
};

Moment MomentOf(const std::string& path) {
  std::error_code ignored;
  const uintmax_t journal = fs::file_size(path + "-journal", ignored);
  const bool has_journal = !ignored && journal > 0;
  return {fs::last_write_time(path, ignored), has_journal};
}

// Whether all was read at that moment.
bool IsReadAt(const Moment& moment, const std::string& path,
              const std::function<void(Store&)>& read) {
  try {
    SqliteStore store(path, StoreMode::kBeside);
    read(store);
  } catch (const std::exception&) {
    if (MomentOf(path) == moment) throw;
  }
  return MomentOf(path) == moment;
}

bool IsReadBeside(const std::string& path, const std::function<void(Store&)>& read) {
  for (int i = 0; i < kAttempts; ++i) {
    const Moment moment = MomentOf(path);
    if (!moment.is_within_commit && IsReadAt(moment, path, read)) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

bool IsOfThisVersion(const std::string& path) {
  return Database(path, Access::kBeside).Integer("PRAGMA user_version") == kSchemaVersion;
}

}  // namespace

void ReadSqliteStore(const std::string& path, const std::function<void(Store&)>& read) {
  posix::RequirePrivateFile(path);
  if (IsOfThisVersion(path) && IsReadBeside(path, read)) return;
  SqliteStore store(path, StoreMode::kRead);
  read(store);
}

}  // namespace sotto::server
