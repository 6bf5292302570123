#include "sotto/posix/claim_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

// Locks of an open file, not of a process: two of one process exclude each other.
int Lock(int descriptor, short type, uint64_t number, bool waits) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(number);
  lock.l_len = 1;
  int result = 0;
  do {
    result = fcntl(descriptor, waits ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
  } while (result != 0 && errno == EINTR);
  return result;
}

[[noreturn]] void Fail(const std::string& path, const char* what, const char* advice) {
  const int error = errno;
  ThrowFileError(path + ": " + what + ": " + std::generic_category().message(error) + "; " +
                     AdviceFor(error, advice),
                 error);
}

constexpr char kNoLocks[] = "use a folder on a file system with locks";

}  // namespace

Claim::~Claim() {
  if (descriptor_ >= 0) Lock(descriptor_, F_UNLCK, number_, false);
}

ClaimFile::ClaimFile(std::string path) : path_(std::move(path)) {
  constexpr mode_t kMode = S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH;  // and the umask
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (descriptor_ < 0) {
    Fail(path_, "cannot create it", "check that its folder exists and is writable");
  }
}

ClaimFile::~ClaimFile() { close(descriptor_); }

std::optional<Claim> ClaimFile::Try(uint64_t number) {
  if (Lock(descriptor_, F_WRLCK, number, false) == 0) return Claim(descriptor_, number);
  if (errno == EAGAIN || errno == EACCES) return std::nullopt;
  Fail(path_, "cannot lock it", kNoLocks);
}

Claim ClaimFile::Wait(uint64_t number) {
  if (Lock(descriptor_, F_WRLCK, number, true) == 0) return Claim(descriptor_, number);
  Fail(path_, "cannot lock it", kNoLocks);
}

}  // namespace sotto::posix
