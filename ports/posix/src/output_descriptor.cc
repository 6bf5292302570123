#include "sotto/posix/output_descriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace sotto::posix {
namespace {

bool WriteAll(int descriptor, const std::string& text) {
  for (size_t written = 0; written < text.size();) {
    const ssize_t put = write(descriptor, text.data() + written, text.size() - written);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return false;
    written += static_cast<size_t>(put);
  }
  return true;
}

}  // namespace

void OpenStandardStreams() {
  for (int descriptor = 0; descriptor <= 2; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) == -1) static_cast<void>(open("/dev/null", O_RDWR));
  }
}

FileKind KindOfFile(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) {
    struct stat link {};
    return lstat(path.c_str(), &link) == 0 ? FileKind::kBrokenLink : FileKind::kNothing;
  }
  if (S_ISREG(info.st_mode)) return FileKind::kRegular;
  if (S_ISDIR(info.st_mode)) return FileKind::kFolder;
  if (S_ISFIFO(info.st_mode)) return FileKind::kNamedPipe;
  return S_ISCHR(info.st_mode) ? FileKind::kCharacterDevice : FileKind::kOther;
}

bool MayRead(const std::string& path) { return access(path.c_str(), R_OK) == 0; }

OutputDescriptor::OutputDescriptor(const std::string& path, bool is_private)
    : path_(path), is_new_(access(path.c_str(), F_OK) != 0) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
  descriptor_ = open(path.c_str(), kFlags, is_private ? 0600 : 0666);
  struct stat info {};
  if (descriptor_ < 0 || fstat(descriptor_, &info) != 0) {
    const int error = errno;
    if (descriptor_ >= 0) close(descriptor_);
    throw std::system_error(error, std::generic_category());
  }
  fcntl(descriptor_, F_SETFL, O_APPEND);  // writing may wait
  is_regular_ = S_ISREG(info.st_mode);
  device_ = info.st_dev;
  inode_ = info.st_ino;
}

OutputDescriptor::~OutputDescriptor() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (is_new_) unlink(path_.c_str());
}

int OutputDescriptor::Replace(const std::string& contents) {
  // What is not a regular file has no contents to remove.
  int error = is_regular_ ? WriteOver(contents) : WriteAll(descriptor_, contents) ? 0 : errno;
  if (close(descriptor_) != 0 && error == 0) error = errno;
  descriptor_ = -1;
  if (error != 0 && is_new_ && is_regular_) unlink(path_.c_str());
  return error;
}

// The room comes first: a full disk leaves the old contents. A part of the new ones could be taken
// for the whole.
int OutputDescriptor::WriteOver(const std::string& contents) {
  struct stat old {};
  const auto size = static_cast<off_t>(contents.size());
  if (fstat(descriptor_, &old) != 0 || fcntl(descriptor_, F_SETFL, 0) != 0) return errno;
  const int room = contents.empty() ? 0 : posix_fallocate(descriptor_, 0, size);
  const bool has_room = room == 0 || room == EOPNOTSUPP || room == EINVAL;
  const int error = !has_room ? room : WriteAll(descriptor_, contents) ? 0 : errno;
  const off_t kept = error == 0 ? size : has_room ? 0 : old.st_size;
  return ftruncate(descriptor_, kept) == 0 || error != 0 ? error : errno;
}

bool OutputDescriptor::IsSameFile(const OutputDescriptor& other) const {
  return is_regular_ && other.is_regular_ && device_ == other.device_ && inode_ == other.inode_;
}

}  // namespace sotto::posix
