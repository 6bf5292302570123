#include "sotto/posix/lock_file.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "sotto/posix/files.h"
#include "sotto/posix/port.h"

namespace sotto::posix {
namespace {

// A process that asks for the holder locks the file for a moment.
constexpr int kLooks = 10;
constexpr uint32_t kLookMs = 10;

[[noreturn]] void FailErrno(const std::string& path, const char* what) {
  const int error = errno;
  ThrowFileError(path + ": " + what + ": " + std::generic_category().message(error) + "; " +
                     AdviceFor(error, "check that its folder exists and is writable"),
                 error);
}

std::string HolderIn(int descriptor) {
  char text[32];
  const ssize_t size = pread(descriptor, text, sizeof(text), 0);
  return size > 0 ? std::string(text, static_cast<size_t>(size)) : "unknown";
}

// Whether the path still names the open file: its former holder may have removed it meanwhile.
bool IsNamed(int descriptor, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return fstat(descriptor, &held) == 0 && stat(path.c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace

LockFile::LockFile(std::string path) : path_(std::move(path)) {
  for (int tries = 0;; ++tries) {
    const int descriptor = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (descriptor < 0) FailErrno(path_, "cannot create it");
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const bool is_held = errno == EWOULDBLOCK;
      const std::string holder = HolderIn(descriptor);
      const int error = errno;
      close(descriptor);
      if (is_held && tries < kLooks) {
        SleepMs(kLookMs);
        continue;
      }
      if (is_held) throw FileIsLocked(path_, holder);
      errno = error;
      FailErrno(path_, "cannot lock it");
    }
    if (IsNamed(descriptor, path_)) {
      descriptor_ = descriptor;
      break;
    }
    close(descriptor);
  }
  const std::string holder = std::to_string(getpid());
  const bool is_written =
      ftruncate(descriptor_, 0) == 0 &&
      pwrite(descriptor_, holder.data(), holder.size(), 0) == static_cast<ssize_t>(holder.size());
  if (!is_written) {
    const int error = errno;
    close(descriptor_);
    errno = error;
    FailErrno(path_, "cannot write it");
  }
}

std::optional<std::string> LockFile::HolderOf(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  std::optional<std::string> holder;
  if (flock(descriptor, LOCK_SH | LOCK_NB) != 0) holder = HolderIn(descriptor);
  close(descriptor);
  return holder;
}

LockFile::~LockFile() {
  unlink(path_.c_str());  // while it is locked: a process that waits for the name finds a new file
  close(descriptor_);
}

}  // namespace sotto::posix
