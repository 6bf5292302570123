// What a process may take of its system, and what others may see of it. Part of sotto/posix.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sotto::posix {

// After this call a crash writes no core file, neither by the kernel nor by a program that the
// kernel pipes cores to, and no other process of the same user can attach to this one or read its
// memory; root can. Applies to the whole process: call it once, before the first secret is read.
// Programs that this process starts keep the limit of 0 bytes, and are dumpable again.
// Throws std::runtime_error if the system refuses.
void ForbidCoreDumps();

// Raises this process' limit of open files as far as it may. Returns the limit.
size_t AllowOpenFiles();

// Lets the calling thread run before others on a busy machine, as far as the system allows: only
// with CAP_SYS_NICE or a limit for it (`ulimit -e`). Threads that this one starts later inherit it.
void RaiseThreadPriority();

// Runs another program and waits for its end. It has this process' streams and environment, and
// prints its own errors.
//   words  the program, which is looked for in PATH, and its arguments; at least one
// Returns its exit status, or 128 + N if signal N ended it. Throws std::runtime_error, "curl: No
// such file or directory", if it cannot be started.
int RunTool(const std::vector<std::string>& words);

// The build id that the linker gave this program, hexadecimal digits; empty: it gave none. Two
// programs with one id have the same code.
std::string BuildId();

// Its number and its machine, "4711 of pi", for people.
std::string ThisProcess();

}  // namespace sotto::posix
