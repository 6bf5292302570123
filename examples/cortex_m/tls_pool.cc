#include "tls_pool.h"

#include <mbedtls/memory_buffer_alloc.h>

#include "sotto/mps2/semihosting.h"

namespace sotto {
namespace {

// A session's buffers and the handshake with ECDHE.
constexpr size_t kPoolSize = 8192;

alignas(8) unsigned char pool[kPoolSize];

}  // namespace

void StartTlsPool() { mbedtls_memory_buffer_alloc_init(pool, sizeof(pool)); }

}  // namespace sotto

// Where the pool's bookkeeping goes when it finds itself overwritten.
extern "C" void exit(int) { sotto::mps2::Exit(124); }
