#include "sotto/posix/temporary_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unistd.h>

#include "sotto/posix/files.h"

namespace sotto::posix {
namespace {

std::string Folder() {
  const char* const named = std::getenv("TMPDIR");
  return named == nullptr || *named == '\0' ? "/tmp" : named;
}

[[noreturn]] void Fail(int error) {
  throw std::runtime_error(
      Folder() + ": a temporary file cannot be made there: " + std::strerror(error) + "; " +
      AdviceFor(error, "set TMPDIR to a folder with room that you may write to"));
}

// Moves all bytes by as many calls as that takes.
template <typename Byte, typename Call>
bool MoveAll(const Call& call, Span<Byte> bytes, uint64_t offset) {
  while (!bytes.empty()) {
    const ssize_t moved = call(bytes, static_cast<off_t>(offset));
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    bytes = bytes.subspan(static_cast<size_t>(moved));
    offset += static_cast<uint64_t>(moved);
  }
  return true;
}

}  // namespace

TemporaryFile::TemporaryFile(uint64_t size) {
  std::string path = Folder() + "/sotto.XXXXXX";
  descriptor_ = mkstemp(path.data());
  if (descriptor_ < 0) Fail(errno);
  unlink(path.c_str());
  if (ftruncate(descriptor_, static_cast<off_t>(size)) == 0) return;
  const int error = errno;
  close(descriptor_);
  Fail(error);
}

TemporaryFile::~TemporaryFile() { close(descriptor_); }

bool TemporaryFile::Read(uint64_t offset, MutableByteSpan out) const {
  const auto call = [this](MutableByteSpan part, off_t at) {
    return pread(descriptor_, part.data(), part.size(), at);
  };
  return MoveAll(call, out, offset);
}

bool TemporaryFile::Write(uint64_t offset, ByteSpan bytes) const {
  const auto call = [this](ByteSpan part, off_t at) {
    return pwrite(descriptor_, part.data(), part.size(), at);
  };
  return MoveAll(call, bytes, offset);
}

}  // namespace sotto::posix
