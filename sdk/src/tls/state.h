// The state of TlsContext and TlsSession: Mbed TLS' objects and a little bookkeeping. Part of
// sotto/tls; private to the SDK. Threads: as for these two classes.
#pragma once

#include <mbedtls/ctr_drbg.h>
#include <mbedtls/ssl.h>

#include "sotto/hello_token.h"
#include "sotto/tls.h"
#include "sotto/tls_tickets.h"

#if defined(MBEDTLS_USE_PSA_CRYPTO)
#error "Sotto takes its entropy from a Port: build Mbed TLS without MBEDTLS_USE_PSA_CRYPTO"
#endif

// What this Mbed TLS can do about tickets. A session is read and made member by member: the
// library's own form of it is three times as long. 3.6 names its members by MBEDTLS_PRIVATE.
#if defined(MBEDTLS_SSL_SESSION_TICKETS) && defined(MBEDTLS_SSL_CLI_C)
#define SOTTO_TLS_RESUMES
#endif
#if defined(MBEDTLS_SSL_SESSION_TICKETS) && defined(MBEDTLS_SSL_SRV_C) && \
    defined(MBEDTLS_CHACHAPOLY_C)
#define SOTTO_TLS_GIVES_TICKETS
#endif
#if !defined(MBEDTLS_PRIVATE)
#define MBEDTLS_PRIVATE(member) member
#endif

namespace sotto {

struct TlsSessionState;

struct TlsContextState {
  static constexpr size_t kMaxSuites = 4;

  TlsContextState();
  ~TlsContextState();
  TlsContextState(const TlsContextState&) = delete;
  TlsContextState& operator=(const TlsContextState&) = delete;

  // The configuration of both roles; `endpoint` is MBEDTLS_SSL_IS_CLIENT or MBEDTLS_SSL_IS_SERVER.
  Status Configure(int endpoint, const Port& random_port, const TlsConfig& options);

  // Lets the client's sessions say tokens of its key (hello_token.h), if Mbed TLS can.
  Status OfferTokens(const Key& client_psk);

  // A client keeps its sessions in `kept`; null: it asks for no ticket. What another identity or
  // key has kept there is forgotten. Returns kOk, kCryptoFailed, or kInvalidArgument without a
  // clock.
  Status KeepSessions(TlsTicket* kept, ByteSpan identity, const Key& client_psk);
  uint64_t NowMs() const { return port.now_ms(port.context); }

  // A server gives tickets under these keys; null: none. kInvalidArgument as above, or without a
  // clock.
  Status GiveTickets(TlsTicketKeys* keys_of_tickets);

  // Before a session's ClientHello: draws its random, and makes the token for it. Returns 0 or an
  // error of Mbed TLS.
  int DrawHello();

  // Mbed TLS' random function. After DrawHello() the first request for so many bytes gets that
  // random: Mbed TLS 2.28 and 3.6 ask for a ClientHello's random first, with or without the four
  // bytes of the time before it, and write the token later. If a version did otherwise, its token
  // would be none. Sets random_failed when the port's entropy fails.
  static int Random(void* self, unsigned char* out, size_t size);

  mbedtls_ssl_config config;
  mbedtls_ctr_drbg_context generator;
  Port port;
  PskLookup keys;
  int suites[kMaxSuites + 1] = {};  // suites that Mbed TLS was built with, then 0
#if defined(SOTTO_TLS_RESUMES)
  TlsTicket* ticket = nullptr;  // of a client
#endif
#if defined(SOTTO_TLS_GIVES_TICKETS)
  TlsTicketKeys* ticket_keys = nullptr;    // of a server
  TlsSessionState* handshaking = nullptr;  // whose handshake Mbed TLS computes
#endif
#if defined(MBEDTLS_SSL_ALPN)
  Key psk;                                      // of a client
  uint8_t hello_random[kHelloRandomSize] = {};  // of the next ClientHello
  char token[kHelloTokenTextSize + 1] = {};     // for it
  const char* protocols[2] = {token, nullptr};  // that a client names
#endif
  bool offers_tokens = false;
  bool hello_drawn = false;  // and not yet said
  bool ready = false;
  bool random_failed = false;
};

struct TlsSessionState {
  enum class Phase : uint8_t { kIdle, kHandshake, kOpen, kClosing, kClosed, kFailed };

  TlsSessionState() { mbedtls_ssl_init(&ssl); }
  ~TlsSessionState() { mbedtls_ssl_free(&ssl); }
  TlsSessionState(const TlsSessionState&) = delete;
  TlsSessionState& operator=(const TlsSessionState&) = delete;

  // The session to which a callback of Mbed TLS belongs.
  static TlsSessionState* Of(mbedtls_ssl_context* ssl) {
    return reinterpret_cast<TlsSessionState*>(ssl);
  }

  // Client, before the ClientHello: offers the session that is kept. After the handshake: keeps
  // this one, or the one before if it was resumed, or none. kCryptoFailed: no memory.
  Status OfferTicket();
  void KeepTicket();

  // After a handshake that has failed: what was offered is not offered again, unless the link was
  // lost.
  void DropTicket();

  // The suite of this session is the one of the session that it resumes.
  bool HasSuiteOfTicket() const;

  mbedtls_ssl_context ssl;  // stays the first member: Of() relies on it
  TlsContextState* context = nullptr;
  TlsIo io;
  Phase phase = Phase::kIdle;
  Status failure = Status::kOk;  // in Phase::kFailed
  bool began = false;            // the ClientHello is drawn, if this is a client
  bool authenticated = false;    // the handshake was completed
  bool resumed = false;          // from a ticket; of a server also before the handshake's end
  bool refuses_tickets = false;  // of a server
  bool peer_closed = false;
  uint32_t handshake_bytes = 0;  // received; see kMaxHandshakeBytes
  ByteSpan unsent;               // bytes that the link did not take, in a buffer of ssl
  size_t write_size = 0;         // size of the Write() that must be repeated; 0: none
  size_t identity_size = 0;
  uint8_t identity[kMaxDeviceIdSize] = {};
#if defined(SOTTO_TLS_GIVES_TICKETS)
  bool has_owner = false;                // of a server: it did a full handshake under
  uint8_t owner[kTicketOwnerSize] = {};  // the key with this fingerprint
  int ticket_suite = 0;                  // of a server, if it resumes
#endif
};

// The fingerprint of a device's id and pre-shared key: whose session a ticket opens.
// Returns kOk or kCryptoFailed.
Status TicketOwner(const Key& psk, ByteSpan identity, uint8_t (&out)[kTicketOwnerSize]);

}  // namespace sotto
