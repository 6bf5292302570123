// A client's side of tickets: what it keeps of a session, and how it offers that.
#include "sotto/bytes.h"
#include "sotto/key_labels.h"
#include "tls/state.h"

namespace sotto {
namespace {

#if defined(SOTTO_TLS_RESUMES)

// A handshake that tries to resume may be lost with its link, so the client tries again. After this
// many unanswered tries it does a full handshake.
constexpr uint8_t kMostTries = 3;

// The session to which a completed handshake has led.
const mbedtls_ssl_session& SessionOf(const mbedtls_ssl_context& ssl) {
  return *ssl.MBEDTLS_PRIVATE(session);
}

#endif

}  // namespace

void TlsTicket::Forget() {
  Drop();
  SecureWipe(owner_, sizeof(owner_));
}

void TlsTicket::Retire(uint64_t now_ms) {
  if (is_there() && now_ms - made_ms_ > kTicketLifeMs) Drop();
}

void TlsTicket::Drop() {
  SecureWipe(master_, sizeof(master_));
  SecureWipe(bytes_, sizeof(bytes_));
  size_ = suite_ = 0;
  tries_ = 0;
}

#if defined(SOTTO_TLS_RESUMES) || defined(SOTTO_TLS_GIVES_TICKETS)

Status TicketOwner(const Key& psk, ByteSpan identity, uint8_t (&out)[kTicketOwnerSize]) {
  const ByteSpan label(reinterpret_cast<const uint8_t*>(key_label::kTicket),
                       sizeof(key_label::kTicket) - 1);
  Key derived;
  if (Status s = HkdfSha256(psk.bytes, identity, label, &derived); s != Status::kOk) return s;
  __builtin_memcpy(out, derived.bytes, sizeof(out));
  return Status::kOk;
}

#endif

#if defined(SOTTO_TLS_RESUMES)

// Mbed TLS asks for tickets unless it is told not to.
Status TlsContextState::KeepSessions(TlsTicket* kept, ByteSpan identity, const Key& client_psk) {
  mbedtls_ssl_conf_session_tickets(&config, kept == nullptr ? MBEDTLS_SSL_SESSION_TICKETS_DISABLED
                                                            : MBEDTLS_SSL_SESSION_TICKETS_ENABLED);
  ticket = kept;
  if (kept == nullptr) return Status::kOk;
  if (port.now_ms == nullptr) return Status::kInvalidArgument;
  uint8_t owner[kTicketOwnerSize];
  if (Status s = TicketOwner(client_psk, identity, owner); s != Status::kOk) return s;
  if (!ConstantTimeEqual(owner, kept->owner_)) kept->Forget();
  __builtin_memcpy(kept->owner_, owner, sizeof(owner));
  return Status::kOk;
}

Status TlsSessionState::OfferTicket() {
  TlsTicket* const kept = context->ticket;
  if (kept != nullptr) kept->Retire(context->NowMs());
  if (kept == nullptr || !kept->is_there()) return Status::kOk;
  if (kept->tries_ == kMostTries) {
    kept->Drop();
    return Status::kOk;
  }
  ++kept->tries_;
  mbedtls_ssl_session session;
  mbedtls_ssl_session_init(&session);
#if MBEDTLS_VERSION_MAJOR >= 3
  session.MBEDTLS_PRIVATE(tls_version) = MBEDTLS_SSL_VERSION_TLS1_2;
#endif
  session.MBEDTLS_PRIVATE(ciphersuite) = kept->suite_;
  __builtin_memcpy(session.MBEDTLS_PRIVATE(master), kept->master_, kTlsMasterSize);
  session.MBEDTLS_PRIVATE(ticket) = kept->bytes_;
  session.MBEDTLS_PRIVATE(ticket_len) = kept->size_;
  const int failed = mbedtls_ssl_set_session(&ssl, &session);
  SecureWipe(&session, sizeof(session));  // nothing in it is Mbed TLS'
  return failed == 0 ? Status::kOk : Status::kCryptoFailed;
}

// A full handshake without a new ticket leaves the old ticket in Mbed TLS' session, with the new
// master secret: such a pair opens nothing.
void TlsSessionState::KeepTicket() {
  TlsTicket* const kept = context->ticket;
  if (kept == nullptr) return;
  const mbedtls_ssl_session& session = SessionOf(ssl);
  const ByteSpan master(session.MBEDTLS_PRIVATE(master), kTlsMasterSize);
  const ByteSpan fresh(session.MBEDTLS_PRIVATE(ticket), session.MBEDTLS_PRIVATE(ticket_len));
  resumed = kept->is_there() && ConstantTimeEqual(master, kept->master_);
  kept->tries_ = 0;
  if (resumed) return;
  const bool is_old = ConstantTimeEqual(fresh, {kept->bytes_, kept->size_});
  kept->Drop();
  if (is_old || fresh.empty() || fresh.size() > sizeof(kept->bytes_)) return;
  kept->suite_ = static_cast<uint16_t>(session.MBEDTLS_PRIVATE(ciphersuite));
  __builtin_memcpy(kept->master_, master.data(), kTlsMasterSize);
  __builtin_memcpy(kept->bytes_, fresh.data(), fresh.size());
  kept->made_ms_ = context->NowMs();
  kept->size_ = static_cast<uint16_t>(fresh.size());
}

void TlsSessionState::DropTicket() {
  if (context->ticket != nullptr && failure != Status::kLinkLost) context->ticket->Drop();
}

#endif  // SOTTO_TLS_RESUMES

}  // namespace sotto
