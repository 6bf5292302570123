#include "tls_pool.h"

#include <cstring>
#include <mbedtls/aes.h>
#include <mbedtls/memory_buffer_alloc.h>

namespace sotto {
namespace {

// Enough for a session's buffers and its handshake, plus 10 %. sdk/FOOTPRINT.md has the measured
// use with Mbed TLS 2.28; 3.6 uses 3,204 bytes for PSK and up to 4,544 for ECDHE-PSK.
#if !defined(SOTTO_NO_FORWARD_SECRECY)
constexpr size_t kPoolSize = 5312;
#elif __has_include(<mbedtls/build_info.h>)  // 3.6
constexpr size_t kPoolSize = 3520;
#else
constexpr size_t kPoolSize = 3200;
#endif

// The pool is filled with this byte, so memory that was never allocated still holds it. The
// allocator keeps its own header at the front.
constexpr unsigned char kPaint = 0xa5;
constexpr size_t kHead = 64;

// A session that resumes has its ticket in the pool, too.
#if defined(SOTTO_RESUME_TLS)
constexpr size_t kTicketBytes = 256;
#else
constexpr size_t kTicketBytes = 0;
#endif

alignas(8) unsigned char pool[kPoolSize + kTicketBytes];

}  // namespace

void StartTlsPool() {
  mbedtls_memory_buffer_alloc_init(pool, sizeof(pool));
  std::memset(pool + kHead, kPaint, sizeof(pool) - kHead);
}

uint32_t TlsPoolSize() { return sizeof(pool); }

uint32_t TlsPoolUsed() {
  uint32_t used = sizeof(pool);
  while (used > kHead && pool[used - 1] == kPaint) --used;
  return used;
}

}  // namespace sotto

extern "C" {

// Called by the pool when it finds its own headers overwritten: a fault, as for any other overflow.
void exit(int) { __builtin_trap(); }

// The generator only encrypts, and no cipher suite here has AES.
int mbedtls_aes_setkey_dec(mbedtls_aes_context*, const unsigned char*, unsigned int) {
  return MBEDTLS_ERR_AES_BAD_INPUT_DATA;
}

int mbedtls_internal_aes_decrypt(mbedtls_aes_context*, const unsigned char[16], unsigned char[16]) {
  return MBEDTLS_ERR_AES_BAD_INPUT_DATA;
}
}
