// Configures Mbed TLS for a board: what the SDK calls and nothing else.
//
// A firmware that links sotto::tls names a larger one of its own with SOTTO_MBEDTLS_CONFIG.
#ifndef SOTTO_CRYPTO_MBEDTLS_CONFIG_H_
#define SOTTO_CRYPTO_MBEDTLS_CONFIG_H_

#define MBEDTLS_CHACHA20_C
#define MBEDTLS_SHA256_C
#define MBEDTLS_SHA256_SMALLER  // some ten hashes a round

#endif  // SOTTO_CRYPTO_MBEDTLS_CONFIG_H_
