// TLS 1.2 with a pre-shared key (RFC 4279, RFC 5489), client and server. The caller does the I/O.
// Part of sotto/tls (library sotto::tls, beside sotto::sdk).
//
// The caller moves bytes; a session returns kWouldBlock while it waits for the link:
//
//   TlsContext context;                                     // once: configuration, random bits
//   context.InitClient(port, device_id, psk);
//   TlsSession session;                                     // once a connection
//   session.Start(&context, io);
//   while ((status = session.Handshake()) == Status::kWouldBlock) WaitForLink();
//   ... session.Read(), session.Write() ...
//   while (session.Close() == Status::kWouldBlock) WaitForLink();
//
// The only version is TLS 1.2. A session takes the first of these cipher suites that both sides
// have, all of them with authenticated encryption (AEAD):
//   ECDHE-PSK-CHACHA20-POLY1305, PSK-CHACHA20-POLY1305, PSK-AES128-GCM-SHA256, PSK-AES128-CCM
// The first one gives forward secrecy and costs a device some 30 million instructions (Cortex-M4).
// With the others the traffic stays secret only as long as the key does. ECDHE is on the curve
// P-256. There is no renegotiation or 0-RTT. A session resumes where both sides say so
// (tls_tickets.h). A client's ClientHello carries a token of hello_token.h, if Mbed TLS has
// MBEDTLS_SSL_ALPN.
//
// Mbed TLS 2.28 or 3.6 implements the protocol, without MBEDTLS_USE_PSA_CRYPTO. Its random bits
// come from Port::entropy.
//
// Memory. These classes use no heap, but Mbed TLS allocates a session's buffers through its own
// allocator: a little more than MBEDTLS_SSL_IN_CONTENT_LEN + MBEDTLS_SSL_OUT_CONTENT_LEN bytes
// (34 kB as Debian builds it), and some kB more during the handshake. If a static pool is too
// small, a call returns kCryptoFailed or any failure of the handshake. Destructors wipe the memory
// that they free.
//
// Thread safety: a context and all of its sessions belong to one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/port.h"

namespace sotto {

class TlsTicket;      // tls_tickets.h
class TlsTicketKeys;  // the same
struct TlsContextState;
struct TlsSessionState;

// Bytes of a TlsContext and of a TlsSession: enough for Mbed TLS with all of its options.
constexpr size_t kTlsStorageSize = sizeof(void*) == 4 ? 736 : 1088;

// A handshake in which a session has received more bytes than these fails; Sotto's own have some
// 400. Without a limit, a stranger who reaches the link could keep a session busy for ever with
// alerts that TLS has to ignore.
constexpr uint32_t kMaxHandshakeBytes = 4096;

// The link below a session: a reliable byte stream. The calls must not block or call the session.
//   send  takes up to `size` >= 1 bytes; returns how many it took (1 to size), 0 if the link can
//         take none now, a negative number if it is lost
//   recv  the same for bytes that arrive; closed by the peer counts as lost
struct TlsIo {
  int (*send)(void* context, const uint8_t* bytes, size_t size) = nullptr;
  int (*recv)(void* context, uint8_t* out, size_t size) = nullptr;
  void* context = nullptr;
};

// A server's lookup of device keys. `find` gets a valid device id (IsValidDeviceId()) and sets
// *psk; any status but kOk means an unknown device. The lookup should take as long for an unknown
// device as for a known one: the handshake treats both the same way.
struct PskLookup {
  Status (*find)(void* context, ByteSpan identity, Key* psk) = nullptr;
  void* context = nullptr;

  // For a server with tickets: the same for keys that open a session now. The server refuses a
  // ticket whose device has another key, or none. It is for a `find` that also knows keys under
  // which a device only gets an error. Null: `find`.
  Status (*find_current)(void* context, ByteSpan identity, Key* psk) = nullptr;
};

struct TlsConfig {
  // The most plaintext bytes in one record: 512, 1024, 2048, 4096, or 0 for the protocol's 16,384.
  // A client also asks its server to keep to this limit (RFC 6066): set it to the size of the
  // client's buffers. A server keeps to the limit that its client asks for. Each record adds 21 or
  // 29 bytes to its plaintext.
  uint16_t max_fragment = 0;

  // Of a client: it asks for a ticket, keeps it here, and resumes its session next time. A server
  // that does not know the ticket, or not any more, does a full handshake instead. Costs forward
  // secrecy during the ticket's life, and up to 170 bytes of the client's hello. It outlives the
  // context. The client's port needs a clock. Null: the client neither asks nor resumes.
  TlsTicket* ticket = nullptr;

  // Of a server: it gives tickets to clients that ask. They outlive the context. Null: none. The
  // server's port needs a clock.
  TlsTicketKeys* ticket_keys = nullptr;

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// The state that the sessions of one side share: role, keys, random generator. A server has one
// context for all of its connections, a client has one for itself. A context outlives its sessions.
class TlsContext {
 public:
  TlsContext();
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A client that authenticates by `identity` (see IsValidDeviceId()) and `psk`; both are copied.
  // Returns kOk; kInvalidArgument for an identity, port or configuration outside its range (also
  // max_fragment or tickets with a Mbed TLS that lacks the extension), kEntropyFailed, or
  // kCryptoFailed. After a failure the context is not usable. No session may be using the context
  // during the call. All of this holds for InitServer(), too.
  Status InitClient(const Port& port, ByteSpan identity, const Key& psk,
                    const TlsConfig& config = {});

  // A server. It treats a client whose identity is unknown or not a valid device id like a client
  // with a wrong key, by using a random key: the client cannot tell the two cases apart.
  Status InitServer(const Port& port, const PskLookup& keys, const TlsConfig& config = {});

 private:
  friend class TlsSession;

  void Reset();

  alignas(16) uint8_t storage_[kTlsStorageSize];
  TlsContextState* state_;  // in storage_
};

// One connection. A call that returns any failure but kWouldBlock, kInvalidArgument or kWrongState
// ends the session, and later calls repeat that status:
//   kMismatch       wrong key, unknown identity, or a handshake that was tampered with
//   kMalformed      the peer broke the protocol, or its version or suites are not ours; bytes
//                   were altered on the way; more than kMaxHandshakeBytes in the handshake
//   kPeerRefused    the peer sent a fatal alert: a client gets this where its server gets one of
//                   the two statuses above. During the handshake an alert is not authenticated:
//                   anybody on the way can send one
//   kLinkLost       the link was lost, or closed without the peer's Close(): data may be missing
//   kEntropyFailed, kCryptoFailed  this side failed
// After kWouldBlock, wait until the link can be read or, if wants_write() is true, written.
class TlsSession {
 public:
  TlsSession();
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Begins a session, or a new one in place of the old. Sends nothing yet. Returns kOk,
  // kWrongState if the context is not initialized, kInvalidArgument for a missing callback, or
  // kCryptoFailed (no memory).
  Status Start(TlsContext* context, const TlsIo& io);

  // On a server, before the handshake: this client's session gets no ticket and opens none. For a
  // ClientHello without the extended master secret (RFC 7627, section 5.3).
  void RefuseTickets();

  // Continues the handshake. Returns kOk when it is complete, kWouldBlock until then. The number of
  // bytes is limited, the time is not: the caller ends a handshake that takes too long.
  Status Handshake();

  // Reads bytes that have arrived, at most out.size() >= 1 of them.
  //   *read  how many, on kOk; 0 if the peer closed its direction: nothing more will come
  // Before you wait for the link, call this until it returns kWouldBlock: a record may hold more
  // bytes than `out`.
  Status Read(MutableByteSpan out, size_t* read);

  // Sends up to one record from the front of `data`, which has at least one byte.
  //   *written  how many bytes were taken, on kOk: 1 to data.size()
  // After kWouldBlock repeat the call with the same bytes, which are already encrypted and partly
  // sent. More bytes may follow them; fewer bytes are kInvalidArgument.
  Status Write(ByteSpan data, size_t* written);

  // Ends the session: sends the bytes that wait, then close_notify, or after a failure the alert
  // that tells the peer its reason. Repeat on kWouldBlock. Otherwise returns kOk or kLinkLost. The
  // caller closes the link itself. Only Start() may follow.
  Status Close();

  // True if bytes wait because the link took none.
  bool wants_write() const;

  // On a server, after the handshake: the authenticated identity of the client. Before that, and on
  // a client, empty. Valid until Start() or the destructor.
  ByteSpan peer_identity() const;

  // After the handshake: whether it resumed a session by a ticket.
  bool is_resumed() const;

  // After the handshake: Mbed TLS' name of the cipher suite, for logs. Before: nullptr.
  const char* cipher_suite() const;

 private:
  alignas(16) uint8_t storage_[kTlsStorageSize];
  TlsSessionState* state_;  // in storage_
};

}  // namespace sotto
