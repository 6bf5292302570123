// Configures Mbed TLS for a board: only the functions that the SDK calls. Part of sotto/crypto.
//
// A firmware that links sotto::tls needs its own, larger configuration and names it with
// SOTTO_MBEDTLS_CONFIG.
#pragma once

#define MBEDTLS_CHACHA20_C
#define MBEDTLS_SHA256_C
#define MBEDTLS_SHA256_SMALLER  // speed does not matter: some ten hashes a round
