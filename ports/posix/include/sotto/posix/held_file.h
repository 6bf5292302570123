// A file that a process holds open as itself, whatever names it has. Part of sotto/posix.
//
// A name may be removed, linked or given to another file; the file behind it is the kernel's inode.
// A claim is a lock of the inode: it holds for every name of the file, and ends with the process,
// however that ends.
//
// The claim is an open file description's lock on one byte, so it meets no lock of SQLite, which
// locks other bytes. But closing any descriptor of a file drops all locks that SQLite has on it in
// the same process. So all HeldFiles of a process share one descriptor for each inode, and the last
// one closes it: let it live longer than every connection to the file.
//
// One thread at a time for each HeldFile; several may hold one file from several threads.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

namespace sotto::posix {

class HeldFile {
 public:
  // Throws a FileError if there is no such file, or none that may be read; std::invalid_argument if
  // it is no regular file.
  explicit HeldFile(std::string path);
  ~HeldFile();
  HeldFile(const HeldFile&) = delete;
  HeldFile& operator=(const HeldFile&) = delete;

  // Claims the file until the destructor, for one HeldFile at a time of all processes. False: it is
  // claimed by another one. Throws a FileError if the file may only be read, or if its file system
  // has no locks.
  bool Claim();

  // Whether another HeldFile, of any process, has claimed it.
  bool IsClaimedByAnother() const;

  // Whether the path still names this file.
  bool IsNamed() const;

  // How many names (hard links) the file has.
  uint64_t names() const;

 private:
  using Inode = std::pair<uint64_t, uint64_t>;  // device, number

  std::string path_;
  Inode inode_;
  int descriptor_ = -1;  // shared
  bool has_claim_ = false;
};

}  // namespace sotto::posix
