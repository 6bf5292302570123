// The memory of Mbed TLS: a static pool, so that the firmware has no heap. One thread. Part of
// examples/cortex_m.
#pragma once

#include <cstdint>

namespace sotto {

// Once, before the first TLS session.
void StartTlsPool();

// Bytes of the pool, and bytes up to the highest one that was ever allocated: a pool of this size
// would have sufficed.
uint32_t TlsPoolSize();
uint32_t TlsPoolUsed();

}  // namespace sotto
