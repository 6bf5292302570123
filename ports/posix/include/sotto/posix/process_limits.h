// What a process may take of its system. Part of sotto/posix.
#pragma once

#include <cstddef>

namespace sotto::posix {

// Raises this process' limit of open files as far as it may. Returns the limit.
size_t AllowOpenFiles();

// Lets the calling thread run before others on a busy machine, as far as the system allows: only
// with CAP_SYS_NICE or a limit for it (`ulimit -e`). Threads that this one starts later inherit it.
void RaiseThreadPriority();

}  // namespace sotto::posix
