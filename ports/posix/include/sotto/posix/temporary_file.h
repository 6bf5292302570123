// A file without a name, for what does not fit into memory. Part of sotto/posix.
//
// It lies in the folder of the environment variable TMPDIR, else in /tmp, and is gone with the
// object or the process. Any number of threads may read and write different bytes at a time.
#pragma once

#include <cstdint>

#include "sotto/span.h"

namespace sotto::posix {

class TemporaryFile {
 public:
  // A file of `size` zeros, which take no room on a disk until they are written. Throws
  // std::runtime_error that names the folder, what failed and what to do.
  explicit TemporaryFile(uint64_t size);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  // Both return whether all bytes were moved; else errno says why. The bytes lie within the file.
  bool Read(uint64_t offset, MutableByteSpan out) const;
  bool Write(uint64_t offset, ByteSpan bytes) const;

 private:
  int descriptor_ = -1;
};

}  // namespace sotto::posix
