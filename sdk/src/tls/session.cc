#include <mbedtls/ssl_ciphersuites.h>
#include <new>
#include <type_traits>

#include "sotto/bytes.h"
#include "tls/state.h"

namespace sotto {
namespace {

using Phase = TlsSessionState::Phase;

int Send(void* session, const unsigned char* bytes, size_t size) {
  auto* state = static_cast<TlsSessionState*>(session);
  const int sent = state->io.send(state->io.context, bytes, size);
  if (sent < 0) return MBEDTLS_ERR_SSL_CONN_EOF;
  const size_t taken = static_cast<size_t>(sent);
  if (taken > size) return MBEDTLS_ERR_SSL_INTERNAL_ERROR;
  state->unsent = {bytes + taken, size - taken};
  return sent == 0 ? MBEDTLS_ERR_SSL_WANT_WRITE : sent;
}

int Receive(void* session, unsigned char* out, size_t size) {
  auto* state = static_cast<TlsSessionState*>(session);
  const int received = state->io.recv(state->io.context, out, size);
  if (received < 0) return MBEDTLS_ERR_SSL_CONN_EOF;
  if (received == 0) return MBEDTLS_ERR_SSL_WANT_READ;
  if (state->phase == Phase::kHandshake) {
    state->handshake_bytes += static_cast<uint32_t>(received);
    if (state->handshake_bytes > kMaxHandshakeBytes) return MBEDTLS_ERR_SSL_INVALID_RECORD;
  }
  return received;
}

// Codes above this one come from a low-level module alone: a cipher, a big number or the platform.
// Where a high-level module failed, Mbed TLS adds the low-level code to the module's own (its
// error.h).
constexpr int kLastHighLevelError = -0x1000;

Status StatusOf(int error, Phase phase) {
  switch (error) {
    case MBEDTLS_ERR_SSL_CONN_EOF:
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
      return Status::kLinkLost;
    case MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE:
      return Status::kPeerRefused;
    case MBEDTLS_ERR_SSL_INVALID_MAC:
      return phase == Phase::kHandshake ? Status::kMismatch : Status::kMalformed;
    case MBEDTLS_ERR_SSL_ALLOC_FAILED:
    case MBEDTLS_ERR_SSL_INTERNAL_ERROR:
      return Status::kCryptoFailed;
    default:
      return error > kLastHighLevelError ? Status::kCryptoFailed : Status::kMalformed;
  }
}

// The status of a call to Mbed TLS that returned `result`; a failure ends the session.
Status Conclude(TlsSessionState* state, int result) {
  const bool random_failed = state->context->random_failed;
  state->context->random_failed = false;
  if (result >= 0) return Status::kOk;
  if (result == MBEDTLS_ERR_SSL_WANT_READ || result == MBEDTLS_ERR_SSL_WANT_WRITE) {
    return Status::kWouldBlock;
  }
  state->failure = random_failed ? Status::kEntropyFailed : StatusOf(result, state->phase);
  state->phase = Phase::kFailed;
  return state->failure;
}

// Continues the handshake. Returns 0 or an error of Mbed TLS.
int Compute(TlsSessionState* state) {
#if defined(SOTTO_TLS_GIVES_TICKETS)
  state->context->handshaking = state;
  const int result = mbedtls_ssl_handshake(&state->ssl);
  state->context->handshaking = nullptr;
  const bool has_other_suite = result == 0 && !state->HasSuiteOfTicket();
  return has_other_suite ? MBEDTLS_ERR_SSL_INVALID_RECORD : result;
#else
  return mbedtls_ssl_handshake(&state->ssl);
#endif
}

// kOk if the session is in `phase`; the failure that ended the session, if one did; or kWrongState.
Status Expect(const TlsSessionState& state, Phase phase) {
  if (state.phase == Phase::kFailed) return state.failure;
  return state.phase == phase ? Status::kOk : Status::kWrongState;
}

// Sends the bytes that the link has not taken yet, then close_notify.
Status CloseOpen(TlsSessionState* state) {
  if (state->phase == Phase::kOpen && !state->unsent.empty()) {
    // While bytes are waiting, this call sends only these.
    const Status s = Conclude(state, mbedtls_ssl_close_notify(&state->ssl));
    if (s != Status::kOk) return s;
  }
  state->phase = Phase::kClosing;
  const Status s = Conclude(state, mbedtls_ssl_close_notify(&state->ssl));
  if (s == Status::kOk) state->phase = Phase::kClosed;
  return s;
}

// Sends the rest of the alert without Mbed TLS, which must not be called again after an error.
Status CloseFailed(TlsSessionState* state) {
  if (state->failure == Status::kLinkLost) return Status::kLinkLost;
  while (!state->unsent.empty()) {
    const int result = Send(state, state->unsent.data(), state->unsent.size());
    if (result == MBEDTLS_ERR_SSL_WANT_WRITE) return Status::kWouldBlock;
    if (result < 0) return Status::kLinkLost;
  }
  return Status::kOk;
}

}  // namespace

TlsSession::TlsSession() {
  static_assert(sizeof(TlsSessionState) <= sizeof(storage_), "enlarge kTlsStorageSize");
  static_assert(alignof(TlsSessionState) <= 16, "align TlsSession::storage_");
  static_assert(std::is_standard_layout_v<TlsSessionState>, "TlsSessionState::Of() relies on it");
  state_ = ::new (static_cast<void*>(storage_)) TlsSessionState;
}

TlsSession::~TlsSession() {
  state_->~TlsSessionState();
  SecureWipe(storage_, sizeof(storage_));
}

Status TlsSession::Start(TlsContext* context, const TlsIo& io) {
  if (!context->state_->ready) return Status::kWrongState;
  if (io.send == nullptr || io.recv == nullptr) return Status::kInvalidArgument;
  state_->~TlsSessionState();
  SecureWipe(storage_, sizeof(storage_));
  state_ = ::new (static_cast<void*>(storage_)) TlsSessionState;
  state_->context = context->state_;
  state_->io = io;
  if (mbedtls_ssl_setup(&state_->ssl, &context->state_->config) != 0) return Status::kCryptoFailed;
  mbedtls_ssl_set_bio(&state_->ssl, state_, Send, Receive, nullptr);
  state_->phase = Phase::kHandshake;
#if defined(SOTTO_TLS_RESUMES)
  return state_->OfferTicket();
#else
  return Status::kOk;
#endif
}

Status TlsSession::Handshake() {
  if (state_->phase == Phase::kOpen) return Status::kOk;
  if (Status s = Expect(*state_, Phase::kHandshake); s != Status::kOk) return s;
  const int drawn = state_->began ? 0 : state_->context->DrawHello();
  state_->began = true;
  const Status s = Conclude(state_, drawn != 0 ? drawn : Compute(state_));
#if defined(SOTTO_TLS_RESUMES)
  if (state_->phase == Phase::kFailed) state_->DropTicket();
#endif
  if (s != Status::kOk) return s;
  state_->phase = Phase::kOpen;
  state_->authenticated = true;
#if defined(SOTTO_TLS_RESUMES)
  state_->KeepTicket();
#endif
  return Status::kOk;
}

void TlsSession::RefuseTickets() { state_->refuses_tickets = true; }

bool TlsSession::is_resumed() const { return state_->authenticated && state_->resumed; }

Status TlsSession::Read(MutableByteSpan out, size_t* read) {
  if (Status s = Expect(*state_, Phase::kOpen); s != Status::kOk) return s;
  if (out.empty()) return Status::kInvalidArgument;
  int result = 0;
  if (!state_->peer_closed) {
    result = mbedtls_ssl_read(&state_->ssl, out.data(), out.size());
    // Mbed TLS returns 0 where the link ended without close_notify.
    if (result == 0) result = MBEDTLS_ERR_SSL_CONN_EOF;
    if (result == MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY) {
      state_->peer_closed = true;
      result = 0;
    }
  }
  if (Status s = Conclude(state_, result); s != Status::kOk) return s;
  *read = static_cast<size_t>(result);
  return Status::kOk;
}

Status TlsSession::Write(ByteSpan data, size_t* written) {
  if (Status s = Expect(*state_, Phase::kOpen); s != Status::kOk) return s;
  if (data.empty() || data.size() < state_->write_size) return Status::kInvalidArgument;
  // A repeated call must have the same size, although the caller may have added bytes to the data.
  const size_t size = state_->write_size != 0 ? state_->write_size : data.size();
  const int result = mbedtls_ssl_write(&state_->ssl, data.data(), size);
  const Status s = Conclude(state_, result);
  state_->write_size = s == Status::kWouldBlock ? size : 0;
  if (s == Status::kOk) *written = static_cast<size_t>(result);
  return s;
}

Status TlsSession::Close() {
  switch (state_->phase) {
    case Phase::kOpen:
    case Phase::kClosing:
      return CloseOpen(state_);
    case Phase::kFailed:
      return CloseFailed(state_);
    default:
      state_->phase = Phase::kClosed;
      return Status::kOk;
  }
}

bool TlsSession::wants_write() const { return !state_->unsent.empty(); }

ByteSpan TlsSession::peer_identity() const {
  return {state_->identity, state_->authenticated ? state_->identity_size : 0};
}

const char* TlsSession::cipher_suite() const {
  return state_->authenticated ? mbedtls_ssl_get_ciphersuite(&state_->ssl) : nullptr;
}

}  // namespace sotto
