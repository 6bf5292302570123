// Flash for a model (sotto/kept_model.h) on the emulated boards. Part of ports/emulated.
//
// QEMU's boards have no flash that outlives QEMU. A stretch of the board's memory, which the linker
// scripts set aside behind the program, stands for it: 256 KB in pages of 4 KB that the CPU reads
// like memory. The file PREFIX.model of QEMU's machine holds the same bytes, page by page as they
// are erased and programmed, in the folder in which QEMU runs, or wherever PREFIX says. So a kill
// of QEMU leaves what a reset of a real board leaves: also a page that is erased, or half written.
//
// A debugger or QEMU must be there, see semihosting.h. One thread; not for interrupts.
#pragma once

#include "sotto/kept_model.h"

namespace sotto::emulated {

constexpr size_t kModelPage = 4096;

// Reads the file into the memory; without one it is erased. Once, at the start.
//   prefix  zero-terminated, at most kMaxPrefix bytes (record_store.h); not copied
// If the file cannot be read, the flash has no bytes, which is too few for any model.
ModelFlash OpenModelFlash(const char* prefix);

}  // namespace sotto::emulated
