#include "store/sqlite_backup.h"

#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "sotto/posix/files.h"
#include "store/sqlite_schema.h"
#include "store/sqlite_store.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

// Removes what is left of a backup that failed.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) {
    if (posix::CreatePrivateFile(path_)) return;
    throw std::runtime_error(path_ +
                             ": it is there already, of a backup that was interrupted or is under "
                             "way; remove it if none is");
  }
  ~Draft() {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(path_ + "-journal", ignored);
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // Gives the file its name, which nothing else may have.
  void Publish(const std::string& name) {
    std::error_code error;
    fs::create_hard_link(path_, name, error);
    if (error) {
      throw std::runtime_error(name + ": cannot create it: " + error.message() +
                               "; a backup never replaces a file: name another one");
    }
  }

 private:
  std::string path_;
};

}  // namespace

ChainHead BackUpSqliteStore(const std::string& path, const std::string& file) {
  if (fs::exists(file)) {
    throw std::runtime_error(file +
                             ": it is there already; a backup never replaces a file: name "
                             "another one");
  }
  SqliteStore store(path, StoreMode::kRead);  // verified
  Draft draft(file + ".part");
  ChainHead head;
  {
    Database copy(file + ".part");
    copy.CommitToFile();
    MakeTables(copy);
    head = Chain(store.database()).CopyTo(copy);
    Chain(copy).Verify();
  }
  draft.Publish(file);
  return head;
}

}  // namespace sotto::server
