// Configures Mbed TLS 2.28 or 3.6 for a device that is a TLS client: what sotto::sdk and sotto::tls
// call, without heap, files, sockets, clock or a random generator of Mbed TLS' own.
#ifndef SOTTO_EXAMPLES_MBEDTLS_CONFIG_H_
#define SOTTO_EXAMPLES_MBEDTLS_CONFIG_H_

// Memory comes from a static pool, see tls_pool.h, and never from libc.
#define MBEDTLS_PLATFORM_C
#define MBEDTLS_PLATFORM_MEMORY
#define MBEDTLS_PLATFORM_NO_STD_FUNCTIONS
#define MBEDTLS_PLATFORM_EXIT_ALT
#define MBEDTLS_MEMORY_BUFFER_ALLOC_C

// sotto::sdk
#define MBEDTLS_CHACHA20_C
#define MBEDTLS_SHA256_C
#define MBEDTLS_SHA224_C  // 2.28 has no SHA-256 without it

// sotto::tls, a client of TLS 1.2
#define MBEDTLS_SSL_TLS_C
#define MBEDTLS_SSL_CLI_C
#define MBEDTLS_SSL_PROTO_TLS1_2
#define MBEDTLS_SSL_EXTENDED_MASTER_SECRET
#define MBEDTLS_SSL_MAX_FRAGMENT_LENGTH
#define MBEDTLS_SSL_IN_CONTENT_LEN 1024
#define MBEDTLS_SSL_OUT_CONTENT_LEN 1024
#define MBEDTLS_PSK_MAX_LEN 32
#define MBEDTLS_MD_C
#define MBEDTLS_CIPHER_C

// The generator that sotto::tls seeds from Port::entropy.
#define MBEDTLS_CTR_DRBG_C
#define MBEDTLS_AES_C
#define MBEDTLS_AES_ROM_TABLES
#define MBEDTLS_AES_FEWER_TABLES

// PSK-CHACHA20-POLY1305, and with forward secrecy ECDHE-PSK-CHACHA20-POLY1305 on P-256. Without
// the second group, 12 kB of code and some 30 million instructions a session less; then whoever
// learns a device's secret can read all that it ever said.
#define MBEDTLS_KEY_EXCHANGE_PSK_ENABLED
#define MBEDTLS_POLY1305_C
#define MBEDTLS_CHACHAPOLY_C

#define MBEDTLS_KEY_EXCHANGE_ECDHE_PSK_ENABLED
#define MBEDTLS_ECDH_C
#define MBEDTLS_ECP_C
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_ECP_NIST_OPTIM
#define MBEDTLS_ECP_WINDOW_SIZE 2
#define MBEDTLS_ECP_FIXED_POINT_OPTIM 0
#define MBEDTLS_ECP_MAX_BITS 256

// Whether the above fits together: 3.6 checks by itself.
#if !__has_include(<mbedtls/build_info.h>)
#include <mbedtls/check_config.h>
#endif

#endif  // SOTTO_EXAMPLES_MBEDTLS_CONFIG_H_
