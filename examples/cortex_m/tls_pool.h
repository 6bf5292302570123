// The memory of Mbed TLS: a static pool, so that the firmware has no heap.
#ifndef SOTTO_EXAMPLES_TLS_POOL_H_
#define SOTTO_EXAMPLES_TLS_POOL_H_

#include <cstdint>

namespace sotto {

// Once, before the first TLS session.
void StartTlsPool();

// Bytes of the pool, and of them those up to the highest that was ever taken: a pool of so many
// would have sufficed.
uint32_t TlsPoolSize();
uint32_t TlsPoolUsed();

}  // namespace sotto

#endif  // SOTTO_EXAMPLES_TLS_POOL_H_
