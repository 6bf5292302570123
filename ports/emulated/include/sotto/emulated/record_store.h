// The board's persistent store: files of QEMU's machine, by semihosting. Part of ports/emulated.
//
// Four files stand for four pages of flash (sotto/paged_store.h): PREFIX.updates.0 and .1,
// PREFIX.peer.0 and .1, in the folder in which QEMU runs, or wherever PREFIX says. A kill of QEMU
// or a reset at any moment leaves the old record or the new one. A power failure of QEMU's machine
// may lose both: semihosting cannot make a file durable.
//
// A debugger or QEMU must be there, see semihosting.h. One thread; not for interrupts.
#pragma once

#include "sotto/paged_store.h"

namespace sotto::emulated {

// The longest prefix, in bytes.
constexpr size_t kMaxPrefix = 200;

class RecordStore {
 public:
  //   prefix     zero-terminated, at most kMaxPrefix bytes; not copied. If it is longer, every call
  //              of the store fails with kStoreFailed
  //   page_size  the longest record and 64 bytes; a multiple of kProgramUnit. Files grow as needed
  explicit RecordStore(const char* prefix, size_t page_size = 1 << 20);

  // The store of these files; the object must outlive it.
  PersistentStore store() { return pages_.store(); }

 private:
  PagedStore pages_;
};

}  // namespace sotto::emulated
