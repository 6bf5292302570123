// A file by which one process at a time claims something. Part of sotto/posix.
//
// The lock is the kernel's: it ends with the process, however that ends. The file names the process
// that holds the lock, for people. The destructor removes the file; a killed process leaves it, and
// the next one takes it over.
//
// One thread at a time.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace sotto::posix {

// Another process, or another LockFile of this one, holds the lock.
class FileIsLocked : public std::runtime_error {
 public:
  FileIsLocked(const std::string& path, std::string holder)
      : std::runtime_error(path + ": process " + holder + " holds it"),
        holder_(std::move(holder)) {}

  // Its process id as text; "unknown" in the moment in which it takes the lock.
  const std::string& holder() const { return holder_; }

 private:
  std::string holder_;
};

class LockFile {
 public:
  // Creates the file with mode 0600 if there is none, and locks it. Throws FileIsLocked, or
  // std::runtime_error that names the file and the remedy if it cannot be written.
  explicit LockFile(std::string path);
  ~LockFile();

  // The id, as text, of the process that holds the lock of this path now; absent: no process does.
  static std::optional<std::string> HolderOf(const std::string& path);

  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace sotto::posix
