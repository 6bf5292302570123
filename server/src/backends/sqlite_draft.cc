#include "backends/sqlite_draft.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/sql_chain.h"
#include "backends/sqlite.h"
#include "backends/sqlite_schema.h"
#include "sotto/posix/files.h"
#include "sotto/posix/held_file.h"

namespace sotto::server {
namespace {

namespace fs = std::filesystem;

constexpr char kDraft[] = ".part";

// The file of a backup under way. It holds every secret of the store. The destructor removes it; a
// killed process leaves it, without its claim.
class Draft {
 public:
  explicit Draft(std::string path) : path_(std::move(path)) {
    RemoveLeftover();
    if (!posix::CreatePrivateFile(path_)) {
      throw std::runtime_error(path_ +
                               ": it is there already, of a backup that is under way, or it is "
                               "another file; wait, or name another backup");
    }
    file_.emplace(path_);
    if (file_->Claim() && file_->IsNamed()) return;
    throw std::runtime_error(path_ + ": another backup has just taken it; name another one");
  }
  ~Draft() { Remove(); }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  // Whether a killed backup has left this file: it is a private file with the beginning of a
  // database, and no process has claimed it.
  static bool IsLeftover(const std::string& path) {
    std::error_code failed;
    if (!fs::is_regular_file(fs::symlink_status(path, failed))) return false;
    try {
      posix::RequirePrivateFile(path);
      const posix::HeldFile file(path);
      return !file.IsClaimedByAnother() && BeginsAsDatabase(path);
    } catch (const std::exception&) {
      return false;
    }
  }

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
  static bool BeginsAsDatabase(const std::string& path) {
    constexpr std::string_view kDatabase = "SQLite format 3";
    uint8_t head[kDatabase.size()] = {};
    const std::optional<size_t> size = posix::ReadPrivateFileAt(path, 0, head);
    return size && std::equal(std::begin(head), std::end(head), kDatabase.begin());
  }

  // An empty file is one, too: the backup was killed before it wrote.
  void RemoveLeftover() const {
    std::error_code failed;
    const bool is_empty = fs::is_regular_file(fs::symlink_status(path_, failed)) &&
                          fs::file_size(path_, failed) == 0 && !failed;
    if (!is_empty && !IsLeftover(path_)) return;
    posix::HeldFile file(path_);
    if (file.Claim() && file.IsNamed()) Remove();
  }

  // With what SQLite keeps beside it.
  void Remove() const {
    std::error_code ignored;
    fs::remove(path_, ignored);
    fs::remove(path_ + "-journal", ignored);
  }

  const std::string path_;
  std::optional<posix::HeldFile> file_;
};

}  // namespace

std::vector<std::string> LeftoversBeside(const std::string& file) {
  std::vector<std::string> leftovers;
  const fs::path folder =
      fs::path(file).has_parent_path() ? fs::path(file).parent_path() : fs::path(".");
  std::error_code error;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().string();
    if (entry->path().extension() == kDraft && Draft::IsLeftover(path)) leftovers.push_back(path);
  }
  std::sort(leftovers.begin(), leftovers.end());
  return leftovers;
}

void MakeStoreFile(const std::string& file, const FillTables& fill) {
  Draft draft(file + kDraft);
  {
    SqliteDatabase tables(file + kDraft);
    tables.CommitToFile();
    MakeTables(tables);
    Transaction transaction(tables);
    fill(tables);
    transaction.Commit();
    Chain(tables).Verify();
  }
  draft.Publish(file);
}

}  // namespace sotto::server
