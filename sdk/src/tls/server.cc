#include "tls/state.h"

// A device's Mbed TLS may be built without the server's side; sotto::tls then has no server either.
#if defined(MBEDTLS_SSL_SRV_C)

namespace sotto {
namespace {

// Copies the key of `identity` to *psk and its name to the session, if such a device is known.
void FindKey(const PskLookup& keys, ByteSpan identity, TlsSessionState* session, Key* psk) {
  session->identity_size = 0;
  session->resumed = false;
  Key found;
  if (!IsValidDeviceId(identity)) return;
  if (keys.find(keys.context, identity, &found) != Status::kOk) return;
  *psk = found;
  __builtin_memcpy(session->identity, identity.data(), identity.size());
  session->identity_size = identity.size();
#if defined(SOTTO_TLS_GIVES_TICKETS)
  const bool tickets = session->context->ticket_keys != nullptr;
  // Without an owner the session gets no ticket.
  session->has_owner = tickets && TicketOwner(found, identity, session->owner) == Status::kOk;
#endif
}

// Refusing an unknown identity here would tell the peer that it is unknown. Under a random key the
// handshake fails at the same point as for a wrong key. The key is drawn for every identity, so the
// time does not reveal it either.
int OnIdentity(void* context, mbedtls_ssl_context* ssl, const unsigned char* identity,
               size_t size) {
  auto* state = static_cast<TlsContextState*>(context);
  Key psk;
  const int drawn = TlsContextState::Random(state, psk.bytes, sizeof(psk.bytes));
  if (drawn != 0) return drawn;
  FindKey(state->keys, {identity, size}, TlsSessionState::Of(ssl), &psk);
  return mbedtls_ssl_set_hs_psk(ssl, psk.bytes, sizeof(psk.bytes));
}

}  // namespace

Status TlsContext::InitServer(const Port& port, const PskLookup& keys, const TlsConfig& config) {
  Reset();
  if (keys.find == nullptr) return Status::kInvalidArgument;
  if (Status s = state_->Configure(MBEDTLS_SSL_IS_SERVER, port, config); s != Status::kOk) return s;
  state_->keys = keys;
  mbedtls_ssl_conf_psk_cb(&state_->config, OnIdentity, state_);
  if (Status s = state_->GiveTickets(config.ticket_keys); s != Status::kOk) return s;
  state_->ready = true;
  return Status::kOk;
}

}  // namespace sotto

#endif  // MBEDTLS_SSL_SRV_C
