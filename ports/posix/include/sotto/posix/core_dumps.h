// Keeps a process's memory out of core dumps, for programs that hold secrets. Part of sotto/posix.
#pragma once

namespace sotto::posix {

// After this call a crash writes no core file, neither by the kernel nor by a program that the
// kernel pipes cores to, and no other process of the same user can attach to this one or read its
// memory; root can. Applies to the whole process: call it once, before the first secret is read.
// Programs that this process starts keep the limit of 0 bytes, and are dumpable again.
// Throws std::runtime_error if the system refuses.
void ForbidCoreDumps();

}  // namespace sotto::posix
