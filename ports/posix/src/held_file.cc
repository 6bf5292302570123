#include "sotto/posix/held_file.h"

#include <cerrno>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

// SQLite locks 512 bytes from 2^30 on. No file needs to reach so far to have it locked.
constexpr off_t kClaimedByte = (off_t{1} << 30) + 4096;

struct SharedDescriptor {
  int descriptor = -1;
  int users = 0;
  bool is_claimed = false;
};

// Of all files that this process holds, by inode.
struct HeldFiles {
  std::mutex mutex;
  std::map<std::pair<uint64_t, uint64_t>, SharedDescriptor> files;
};

HeldFiles& Held() {
  static HeldFiles& held = *new HeldFiles();  // for destructors that run at the very end, too
  return held;
}

[[noreturn]] void FailHeld(const std::string& path, const char* what, int error) {
  ThrowFileError(path + ": " + what + ": " + std::generic_category().message(error) +
                     "; check that the file and its folder are yours and writable",
                 error);
}

std::pair<uint64_t, uint64_t> InodeOf(const struct stat& info) {
  return {static_cast<uint64_t>(info.st_dev), static_cast<uint64_t>(info.st_ino)};
}

int OpenHeld(const std::string& path) {
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;
  const int descriptor = open(path.c_str(), O_RDWR | kFlags);
  return descriptor >= 0 ? descriptor : open(path.c_str(), O_RDONLY | kFlags);
}

struct flock ClaimLock(short type) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = kClaimedByte;
  lock.l_len = 1;
  return lock;
}

}  // namespace

HeldFile::HeldFile(std::string path) : path_(std::move(path)) {
  RequireRegularFile(path_);
  HeldFiles& held = Held();
  const std::lock_guard<std::mutex> lock(held.mutex);
  struct stat info {};
  if (stat(path_.c_str(), &info) != 0) FailHeld(path_, "cannot inspect it", errno);
  inode_ = InodeOf(info);
  const auto found = held.files.find(inode_);
  if (found != held.files.end()) {
    ++found->second.users;
    descriptor_ = found->second.descriptor;
    return;
  }
  const int descriptor = OpenHeld(path_);
  if (descriptor < 0) FailHeld(path_, "cannot open it", errno);
  if (fstat(descriptor, &info) != 0) {
    const int error = errno;
    close(descriptor);
    FailHeld(path_, "cannot inspect it", error);
  }
  // In this moment another file may have got the name. If that one is held already, the new
  // descriptor stays open: closing it would drop the locks of its connections.
  inode_ = InodeOf(info);
  SharedDescriptor& shared = held.files[inode_];
  if (shared.users == 0) shared.descriptor = descriptor;
  ++shared.users;
  descriptor_ = shared.descriptor;
}

HeldFile::~HeldFile() {
  HeldFiles& held = Held();
  const std::lock_guard<std::mutex> lock(held.mutex);
  const auto found = held.files.find(inode_);
  if (has_claim_) {
    struct flock none = ClaimLock(F_UNLCK);
    fcntl(descriptor_, F_OFD_SETLK, &none);
    found->second.is_claimed = false;
  }
  if (--found->second.users > 0) return;
  close(descriptor_);
  held.files.erase(found);
}

bool HeldFile::Claim() {
  if (has_claim_) return true;
  HeldFiles& held = Held();
  const std::lock_guard<std::mutex> lock(held.mutex);
  SharedDescriptor& shared = held.files.at(inode_);
  if (shared.is_claimed) return false;
  struct flock claim = ClaimLock(F_WRLCK);
  if (fcntl(descriptor_, F_OFD_SETLK, &claim) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    FailHeld(path_, "cannot lock it", errno);
  }
  shared.is_claimed = true;
  has_claim_ = true;
  return true;
}

bool HeldFile::IsClaimedByAnother() const {
  if (has_claim_) return false;
  HeldFiles& held = Held();
  const std::lock_guard<std::mutex> lock(held.mutex);
  if (held.files.at(inode_).is_claimed) return true;
  struct flock claim = ClaimLock(F_WRLCK);
  return fcntl(descriptor_, F_OFD_GETLK, &claim) == 0 && claim.l_type != F_UNLCK;
}

bool HeldFile::IsNamed() const {
  struct stat info {};
  return stat(path_.c_str(), &info) == 0 && InodeOf(info) == inode_;
}

uint64_t HeldFile::names() const {
  struct stat info {};
  return fstat(descriptor_, &info) == 0 ? static_cast<uint64_t>(info.st_nlink) : 0;
}

}  // namespace sotto::posix
