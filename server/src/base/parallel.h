// Runs independent pieces of work on several threads. Part of sotto::server/base.
#pragma once

#include <cstddef>
#include <functional>

namespace sotto::server {

// Calls body(index, worker) once for every index in [0, count), on `threads` threads (>= 1).
// `worker` is in [0, threads) and selects scratch memory. The assignment of indices to workers is
// unspecified, so results must not depend on it. Returns when all calls have returned. If a call
// throws, no further calls start, and ParallelFor() throws the first exception.
void ParallelFor(int threads, size_t count, const std::function<void(size_t, int)>& body);

}  // namespace sotto::server
