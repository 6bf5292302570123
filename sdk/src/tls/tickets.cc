// A server's side of tickets: the callbacks of Mbed TLS.
//
// What Mbed TLS 2.28 and 3.6 do, and leave to these callbacks, when a ticket resumes a session:
//
// - They call no callback for the identity. So a ticket names the device and the fingerprint of its
//   key, and the key is looked up again.
// - They choose the cipher suite anew and use it with the old master secret. A session of a suite
//   without forward secrecy must not come back under the name of one with it:
//   TlsSessionState::HasSuiteOfTicket() compares them when the handshake is complete.
// - They do not remember whether the session had an extended master secret (RFC 7627). It keeps a
//   man in the middle who shares a key with each side from giving both sessions one master secret;
//   here a pre-shared key belongs to one device and one server. The caller still keeps to that RFC:
//   a session without it neither gets nor opens a ticket (TlsSession::RefuseTickets()).
// - A ClientHello may have the extension twice. The first ticket that opens counts. A resumed
//   session gets no new ticket: it would live for another day.
#include "sotto/bytes.h"
#include "tls/state.h"

namespace sotto {

#if !defined(SOTTO_TLS_GIVES_TICKETS)

Status TlsContextState::GiveTickets(TlsTicketKeys* keys_of_tickets) {
  return keys_of_tickets == nullptr ? Status::kOk : Status::kInvalidArgument;
}

#else

namespace {

// Where the parts of a ticket's content are; the id is the rest.
constexpr size_t kSuiteAt = kTlsMasterSize;
constexpr size_t kOwnerAt = kSuiteAt + 2;
constexpr size_t kIdAt = kOwnerAt + kTicketOwnerSize;
static_assert(kIdAt + kMaxDeviceIdSize == kMaxTicketContent, "see tls_tickets.h");

// Any error does: Mbed TLS then gives no ticket, or does a full handshake.
constexpr int kNoTicket = MBEDTLS_ERR_SSL_BAD_INPUT_DATA;

// Whether `identity` now has the key with this fingerprint.
bool IsOwner(const PskLookup& keys, ByteSpan identity, ByteSpan owner) {
  Key psk;
  uint8_t now[kTicketOwnerSize];
  const auto find = keys.find_current != nullptr ? keys.find_current : keys.find;
  if (!IsValidDeviceId(identity)) return false;
  if (find(keys.context, identity, &psk) != Status::kOk) return false;
  return TicketOwner(psk, identity, now) == Status::kOk && ConstantTimeEqual(now, owner);
}

bool IsOurs(const TlsContextState& context, int suite) {
  for (const int* ours = context.suites; *ours != 0; ++ours) {
    if (*ours == suite) return true;
  }
  return false;
}

// The session of this handshake; null: it has no part of tickets.
TlsSessionState* TakerOf(const TlsContextState& context) {
  TlsSessionState* const session = context.handshaking;
  const bool takes = session != nullptr && !session->refuses_tickets && !session->resumed;
  return takes ? session : nullptr;
}

// Called after the client has proved the key of `owner`. The key may have changed during the
// handshake.
int WriteTicket(void* pointer, const mbedtls_ssl_session* made, unsigned char* begin,
                const unsigned char* end, size_t* size, uint32_t* life_s) {
  const auto& context = *static_cast<TlsContextState*>(pointer);
  *size = 0;
  *life_s = 0;  // Mbed TLS sends it in any case
  const TlsSessionState* const session = TakerOf(context);
  if (session == nullptr || !session->has_owner) return kNoTicket;
  const ByteSpan identity(session->identity, session->identity_size);
  if (!IsOwner(context.keys, identity, session->owner)) return kNoTicket;
  uint8_t content[kMaxTicketContent];
  const WipeOnExit wipe(content);
  const auto suite = static_cast<unsigned>(made->MBEDTLS_PRIVATE(ciphersuite));
  __builtin_memcpy(content, made->MBEDTLS_PRIVATE(master), kTlsMasterSize);
  content[kSuiteAt] = static_cast<uint8_t>(suite);
  content[kSuiteAt + 1] = static_cast<uint8_t>(suite >> 8);
  __builtin_memcpy(content + kOwnerAt, session->owner, kTicketOwnerSize);
  __builtin_memcpy(content + kIdAt, identity.data(), identity.size());
  const Status sealed = context.ticket_keys->Seal(context.port, {content, kIdAt + identity.size()},
                                                  {begin, static_cast<size_t>(end - begin)}, size);
  if (sealed != Status::kOk) return kNoTicket;
  *life_s = static_cast<uint32_t>(kTicketLifeMs / 1000);
  return 0;
}

int ParseTicket(void* pointer, mbedtls_ssl_session* made, unsigned char* ticket, size_t size) {
  const auto& context = *static_cast<TlsContextState*>(pointer);
  TlsSessionState* const session = TakerOf(context);
  if (session == nullptr) return kNoTicket;
  uint8_t content[kMaxTicketContent];
  const WipeOnExit wipe(content);
  size_t opened = 0;
  if (context.ticket_keys->Open(context.port, {ticket, size}, content, &opened) != Status::kOk) {
    return kNoTicket;
  }
  if (opened <= kIdAt) return kNoTicket;
  const int suite = content[kSuiteAt] | content[kSuiteAt + 1] << 8;
  const ByteSpan identity(content + kIdAt, opened - kIdAt);
  if (!IsOurs(context, suite)) return kNoTicket;
  if (!IsOwner(context.keys, identity, {content + kOwnerAt, kTicketOwnerSize})) return kNoTicket;
#if MBEDTLS_VERSION_MAJOR >= 3
  made->MBEDTLS_PRIVATE(tls_version) = MBEDTLS_SSL_VERSION_TLS1_2;
  made->MBEDTLS_PRIVATE(endpoint) = MBEDTLS_SSL_IS_SERVER;
#endif
  made->MBEDTLS_PRIVATE(ciphersuite) = suite;
  __builtin_memcpy(made->MBEDTLS_PRIVATE(master), content, kTlsMasterSize);
  __builtin_memcpy(session->identity, identity.data(), identity.size());
  session->identity_size = identity.size();
  session->ticket_suite = suite;
  session->resumed = true;
  return 0;
}

}  // namespace

Status TlsContextState::GiveTickets(TlsTicketKeys* keys_of_tickets) {
  if (keys_of_tickets == nullptr) return Status::kOk;
  if (port.now_ms == nullptr) return Status::kInvalidArgument;
  ticket_keys = keys_of_tickets;
  mbedtls_ssl_conf_session_tickets_cb(&config, WriteTicket, ParseTicket, this);
  return Status::kOk;
}

bool TlsSessionState::HasSuiteOfTicket() const {
  if (ticket_suite == 0 || !resumed) return true;
  return ssl.MBEDTLS_PRIVATE(session)->MBEDTLS_PRIVATE(ciphersuite) == ticket_suite;
}

#endif  // SOTTO_TLS_GIVES_TICKETS

}  // namespace sotto
