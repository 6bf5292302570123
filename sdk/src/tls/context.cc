#include <new>

#include "sotto/bytes.h"
#include "tls/state.h"

namespace sotto {
namespace {

// Authenticated encryption (AEAD) alone: a suite with a block cipher and a MAC is open to attacks
// by its padding.
constexpr int kSuites[] = {
    MBEDTLS_TLS_ECDHE_PSK_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_PSK_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_PSK_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_PSK_WITH_AES_128_CCM,
};
static_assert(sizeof(kSuites) / sizeof(kSuites[0]) == TlsContextState::kMaxSuites,
              "TlsContextState::suites has another size");

// A server must not list a suite that its Mbed TLS was not built with. If a client offered this
// suite, the handshake would end with an internal error instead of choosing the next suite.
void CopySuitesThatAreBuiltIn(int* out) {
  for (const int suite : kSuites) {
    if (mbedtls_ssl_ciphersuite_from_id(suite) != nullptr) *out++ = suite;
  }
  *out = 0;
}

int SeedFromPort(void* port_pointer, unsigned char* out, size_t size) {
  const Port* port = static_cast<const Port*>(port_pointer);
  return port->entropy(port->context, {out, size}) == Status::kOk
             ? 0
             : MBEDTLS_ERR_CTR_DRBG_ENTROPY_SOURCE_FAILED;
}

void PinVersion(mbedtls_ssl_config* config) {
#if MBEDTLS_VERSION_MAJOR < 3
  mbedtls_ssl_conf_min_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
  mbedtls_ssl_conf_max_version(config, MBEDTLS_SSL_MAJOR_VERSION_3, MBEDTLS_SSL_MINOR_VERSION_3);
#else
  mbedtls_ssl_conf_min_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
  mbedtls_ssl_conf_max_tls_version(config, MBEDTLS_SSL_VERSION_TLS1_2);
#endif
}

// Allows one curve only. Every device's Mbed TLS has it; without this 2.28 would prefer P-521, at
// five times the cost.
void PinCurve(mbedtls_ssl_config* config) {
#if !defined(MBEDTLS_KEY_EXCHANGE_ECDHE_PSK_ENABLED) || !defined(MBEDTLS_ECP_DP_SECP256R1_ENABLED)
  (void)config;
#elif MBEDTLS_VERSION_MAJOR < 3
  static const mbedtls_ecp_group_id kCurves[] = {MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_NONE};
  mbedtls_ssl_conf_curves(config, kCurves);
#else
  static const uint16_t kCurves[] = {MBEDTLS_SSL_IANA_TLS_GROUP_SECP256R1,
                                     MBEDTLS_SSL_IANA_TLS_GROUP_NONE};
  mbedtls_ssl_conf_groups(config, kCurves);
#endif
}

Status LimitFragments(mbedtls_ssl_config* config, uint16_t max_fragment) {
  if (max_fragment == 0) return Status::kOk;
#if defined(MBEDTLS_SSL_MAX_FRAGMENT_LENGTH)
  unsigned char code = MBEDTLS_SSL_MAX_FRAG_LEN_512;
  for (unsigned size = 512; size < max_fragment; size *= 2) ++code;
  if (mbedtls_ssl_conf_max_frag_len(config, code) == 0) return Status::kOk;
#else
  (void)config;
#endif
  return Status::kInvalidArgument;
}

}  // namespace

Status TlsConfig::Validate() const {
  switch (max_fragment) {
    case 0:
    case 512:
    case 1024:
    case 2048:
    case 4096:
      return Status::kOk;
    default:
      return Status::kInvalidArgument;
  }
}

TlsContextState::TlsContextState() {
  mbedtls_ssl_config_init(&config);
  mbedtls_ctr_drbg_init(&generator);
}

TlsContextState::~TlsContextState() {
  mbedtls_ssl_config_free(&config);
  mbedtls_ctr_drbg_free(&generator);
}

Status TlsContextState::Configure(int endpoint, const Port& random_port, const TlsConfig& options) {
  if (random_port.entropy == nullptr) return Status::kInvalidArgument;
  if (Status s = options.Validate(); s != Status::kOk) return s;
  port = random_port;
  const int seeded = mbedtls_ctr_drbg_seed(&generator, SeedFromPort, &port, nullptr, 0);
  if (seeded == MBEDTLS_ERR_CTR_DRBG_ENTROPY_SOURCE_FAILED) return Status::kEntropyFailed;
  if (seeded != 0) return Status::kCryptoFailed;
  if (mbedtls_ssl_config_defaults(&config, endpoint, MBEDTLS_SSL_TRANSPORT_STREAM,
                                  MBEDTLS_SSL_PRESET_DEFAULT) != 0) {
    return Status::kCryptoFailed;
  }
  PinVersion(&config);
  PinCurve(&config);
  CopySuitesThatAreBuiltIn(suites);
  mbedtls_ssl_conf_ciphersuites(&config, suites);
  mbedtls_ssl_conf_rng(&config, Random, this);
  return LimitFragments(&config, options.max_fragment);
}

Status TlsContextState::OfferTokens(const Key& client_psk) {
#if defined(MBEDTLS_SSL_ALPN)
  psk = client_psk;
  WriteHelloToken({}, token);
  if (mbedtls_ssl_conf_alpn_protocols(&config, protocols) != 0) return Status::kCryptoFailed;
  offers_tokens = true;
#else
  (void)client_psk;
#endif
  return Status::kOk;
}

int TlsContextState::DrawHello() {
#if defined(MBEDTLS_SSL_ALPN)
  if (!offers_tokens) return 0;
  hello_drawn = false;
  if (const int failed = Random(this, hello_random, sizeof(hello_random)); failed != 0) {
    return failed;
  }
  HelloToken derived;
  if (DeriveHelloToken(psk, hello_random, &derived) != Status::kOk) {
    return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
  }
  WriteHelloToken(derived, token);
  hello_drawn = true;
#endif
  return 0;
}

int TlsContextState::Random(void* self, unsigned char* out, size_t size) {
  auto* state = static_cast<TlsContextState*>(self);
  const int result = mbedtls_ctr_drbg_random(&state->generator, out, size);
  if (result != 0) state->random_failed = true;
#if defined(MBEDTLS_SSL_ALPN)
  if (state->hello_drawn && size >= kHelloRandomSize) {
    __builtin_memcpy(out + size - kHelloRandomSize, state->hello_random, kHelloRandomSize);
    state->hello_drawn = false;
  }
#endif
  return result;
}

TlsContext::TlsContext() {
  static_assert(sizeof(TlsContextState) <= sizeof(storage_), "enlarge kTlsStorageSize");
  static_assert(alignof(TlsContextState) <= 16, "align TlsContext::storage_");
  state_ = ::new (static_cast<void*>(storage_)) TlsContextState;
}

TlsContext::~TlsContext() {
  state_->~TlsContextState();
  SecureWipe(storage_, sizeof(storage_));
}

Status TlsContext::InitClient(const Port& port, ByteSpan identity, const Key& psk,
                              const TlsConfig& config) {
  Reset();
  if (!IsValidDeviceId(identity)) return Status::kInvalidArgument;
  if (Status s = state_->Configure(MBEDTLS_SSL_IS_CLIENT, port, config); s != Status::kOk) return s;
  if (mbedtls_ssl_conf_psk(&state_->config, psk.bytes, sizeof(psk.bytes), identity.data(),
                           identity.size()) != 0) {
    return Status::kCryptoFailed;
  }
  if (Status s = state_->OfferTokens(psk); s != Status::kOk) return s;
#if defined(SOTTO_TLS_RESUMES)
  if (Status s = state_->KeepSessions(config.ticket, identity, psk); s != Status::kOk) return s;
#else
  if (config.ticket != nullptr) return Status::kInvalidArgument;
#endif
  state_->ready = true;
  return Status::kOk;
}

void TlsContext::Reset() {
  state_->~TlsContextState();
  SecureWipe(storage_, sizeof(storage_));
  state_ = ::new (static_cast<void*>(storage_)) TlsContextState;
}

}  // namespace sotto
