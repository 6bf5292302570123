// The configuration of examples/cortex_m, and a server's side: for tests/instructions/handshake.cc.
#pragma once

#include "../../examples/cortex_m/mbedtls_config.h"
#define MBEDTLS_SSL_SRV_C
