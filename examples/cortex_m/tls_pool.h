// The memory of Mbed TLS: a static pool, so that the firmware has no heap.
#ifndef SOTTO_EXAMPLES_TLS_POOL_H_
#define SOTTO_EXAMPLES_TLS_POOL_H_

namespace sotto {

// Once, before the first TLS session.
void StartTlsPool();

}  // namespace sotto

#endif  // SOTTO_EXAMPLES_TLS_POOL_H_
