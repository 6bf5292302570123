// Configures Mbed TLS 2.28 or 3.6 for a device that is a TLS client. Part of examples/cortex_m.
//
// The configuration has only the functions that sotto::sdk and sotto::tls call. Mbed TLS uses no
// heap, files, sockets or clock, and not its own random generator.
#pragma once

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
#define MBEDTLS_SHA256_SMALLER

// sotto::tls, a client of TLS 1.2
#define MBEDTLS_SSL_TLS_C
#define MBEDTLS_SSL_CLI_C
#define MBEDTLS_SSL_PROTO_TLS1_2
#define MBEDTLS_SSL_EXTENDED_MASTER_SECRET
#define MBEDTLS_SSL_MAX_FRAGMENT_LENGTH
#if defined(SOTTO_RESUME_TLS)
#define MBEDTLS_SSL_SESSION_TICKETS
#endif
#define MBEDTLS_SSL_ALPN  // carries sotto/hello_token.h: a crowded server serves the device first
#define MBEDTLS_SSL_IN_CONTENT_LEN 512
#define MBEDTLS_SSL_OUT_CONTENT_LEN 512
#define MBEDTLS_PSK_MAX_LEN 32
#define MBEDTLS_MD_C
#define MBEDTLS_CIPHER_C

// The generator that sotto::tls seeds from Port::entropy.
#define MBEDTLS_CTR_DRBG_C
#define MBEDTLS_AES_C
#define MBEDTLS_AES_ROM_TABLES
#define MBEDTLS_AES_FEWER_TABLES
#define MBEDTLS_AES_SETKEY_DEC_ALT  // it only encrypts: tls_pool.cc
#define MBEDTLS_AES_DECRYPT_ALT

#define MBEDTLS_KEY_EXCHANGE_PSK_ENABLED
#define MBEDTLS_POLY1305_C
#define MBEDTLS_CHACHAPOLY_C

// Forward secrecy, by ECDHE on P-256. Without it (-DSOTTO_FORWARD_SECRECY=OFF) the firmware is some
// 13 kB smaller and a session takes 30 million instructions less. But a person who learns a
// device's secret can then decrypt all recorded sessions of the device.
#if defined(SOTTO_NO_FORWARD_SECRECY)
#define MBEDTLS_SSL_CIPHERSUITES MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256
#else
#define MBEDTLS_SSL_CIPHERSUITES \
  MBEDTLS_TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256, MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256
#define MBEDTLS_KEY_EXCHANGE_ECDHE_PSK_ENABLED
#define MBEDTLS_ECDH_C
#define MBEDTLS_ECP_C
#define MBEDTLS_BIGNUM_C
#define MBEDTLS_ECP_DP_SECP256R1_ENABLED
#define MBEDTLS_ECP_NIST_OPTIM
#define MBEDTLS_ECP_NO_INTERNAL_RNG  // TLS passes one; 2.28's own takes 560 bytes of stack
#define MBEDTLS_ECP_WINDOW_SIZE 2
#define MBEDTLS_ECP_FIXED_POINT_OPTIM 0
#define MBEDTLS_ECP_MAX_BITS 256
#endif

// Checks that these options fit together. 3.6 does this without the include.
#if !__has_include(<mbedtls/build_info.h>)
#include <mbedtls/check_config.h>
#endif
