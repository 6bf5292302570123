// A file of QEMU's machine, or of the debugger's, by semihosting. Part of ports/emulated; private
// to the port.
//
// What is written is in the file when the call returns, also if QEMU is then killed. One thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/span.h"

namespace sotto::emulated {

class HostFile {
 public:
  // fopen()'s modes, as SYS_OPEN numbers them.
  enum class Mode : uint32_t { kRead = 1 /* rb */, kUpdate = 3 /* r+b */, kTruncate = 5 /* wb */ };

  // Opens the file PREFIX END, both zero-terminated, of at most kMaxPrefix and 16 bytes. The
  // destructor closes it.
  HostFile(const char* prefix, const char* end, Mode mode);
  ~HostFile();
  HostFile(const HostFile&) = delete;
  HostFile& operator=(const HostFile&) = delete;

  bool is_open() const { return handle_ != kNone; }
  bool is_missing() const { return is_missing_; }  // there is no such file

  // Of an open file. Bytes, or kNoSize after a failure.
  static constexpr uint32_t kNoSize = 0xffffffff;
  uint32_t size() const;
  bool Seek(size_t offset) const;
  // Both move all bytes or return false.
  bool Read(MutableByteSpan out) const;
  bool Write(ByteSpan bytes) const;

 private:
  static constexpr uint32_t kNone = 0xffffffff;

  bool Move(uint32_t operation, const void* bytes, size_t size) const;

  uint32_t handle_ = kNone;
  bool is_missing_ = false;
};

}  // namespace sotto::emulated
