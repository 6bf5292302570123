#include "host_file.h"

#include <cstring>

#include "semihosting_call.h"
#include "sotto/emulated/record_store.h"

namespace sotto::emulated {
namespace {

constexpr uint32_t kSysOpen = 0x01;
constexpr uint32_t kSysClose = 0x02;
constexpr uint32_t kSysWrite = 0x05;
constexpr uint32_t kSysRead = 0x06;
constexpr uint32_t kSysSeek = 0x0a;
constexpr uint32_t kSysFlen = 0x0c;
constexpr uint32_t kSysErrno = 0x13;
constexpr uint32_t kNoSuchFile = 2;  // ENOENT

constexpr size_t kMaxEnd = 15;

uint32_t AddressOf(const void* pointer) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
}

}  // namespace

HostFile::HostFile(const char* prefix, const char* end, Mode mode) {
  char name[kMaxPrefix + kMaxEnd + 1];
  const size_t size = std::strlen(prefix);
  if (size > kMaxPrefix || std::strlen(end) > kMaxEnd) return;
  std::memcpy(name, prefix, size);
  std::strcpy(name + size, end);
  const uint32_t arguments[] = {AddressOf(name), static_cast<uint32_t>(mode),
                                static_cast<uint32_t>(std::strlen(name))};
  handle_ = SemihostingCall(kSysOpen, arguments);
  is_missing_ = !is_open() && SemihostingCall(kSysErrno, nullptr) == kNoSuchFile;
}

HostFile::~HostFile() {
  if (is_open()) SemihostingCall(kSysClose, &handle_);
}

uint32_t HostFile::size() const { return SemihostingCall(kSysFlen, &handle_); }

bool HostFile::Seek(size_t offset) const {
  const uint32_t arguments[] = {handle_, static_cast<uint32_t>(offset)};
  return SemihostingCall(kSysSeek, arguments) == 0;
}

bool HostFile::Read(MutableByteSpan out) const { return Move(kSysRead, out.data(), out.size()); }

bool HostFile::Write(ByteSpan bytes) const { return Move(kSysWrite, bytes.data(), bytes.size()); }

// The call returns how many bytes it did not move.
bool HostFile::Move(uint32_t operation, const void* bytes, size_t size) const {
  const uint32_t arguments[] = {handle_, AddressOf(bytes), static_cast<uint32_t>(size)};
  return SemihostingCall(operation, arguments) == 0;
}

}  // namespace sotto::emulated
