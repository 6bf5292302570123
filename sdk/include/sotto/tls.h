// TLS 1.2 with a pre-shared key (RFC 4279, RFC 5489), client and server, without I/O of its own.
// Part of sotto/tls (library sotto::tls, beside sotto::sdk).
//
// The caller moves bytes; a session says what it waits for:
//
//   TlsContext context;                                     // once: configuration, random bits
//   context.InitClient(port, device_id, psk);
//   TlsSession session;                                     // once a connection
//   session.Start(&context, io);
//   while ((status = session.Handshake()) == Status::kWouldBlock) WaitForLink();
//   ... session.Read(), session.Write() ...
//   while (session.Close() == Status::kWouldBlock) WaitForLink();
//
// Nothing but TLS 1.2 is spoken, and no cipher suites but these, of which a session takes the first
// that both sides have; the first two give forward secrecy and cost a device some 30 million
// instructions (Cortex-M4), the others need the key to stay secret for ever:
//   ECDHE-PSK-CHACHA20-POLY1305, ECDHE-PSK-AES128-CBC-SHA256,
//   PSK-CHACHA20-POLY1305, PSK-AES128-GCM-SHA256, PSK-AES128-CCM
// ECDHE is on the curve P-256. There is no renegotiation, resumption or 0-RTT.
//
// Mbed TLS 2.28 or 3.6 does the work, without MBEDTLS_USE_PSA_CRYPTO: its random bits come from
// Port::entropy. These classes use no heap, but Mbed TLS allocates a session's buffers through its
// own allocator: MBEDTLS_SSL_IN_CONTENT_LEN + MBEDTLS_SSL_OUT_CONTENT_LEN bytes and a little (34 kB
// as Debian builds it), during the handshake some kB more. A static pool that is too small can show
// as kCryptoFailed or as any failure of the handshake. Destructors wipe what they free.
//
// Thread safety: a context and all of its sessions belong to one thread at a time.
#ifndef SOTTO_TLS_H_
#define SOTTO_TLS_H_

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/port.h"

namespace sotto {

struct TlsContextState;
struct TlsSessionState;

// Bytes of a TlsContext and of a TlsSession: enough for Mbed TLS with all of its options.
constexpr size_t kTlsStorageSize = sizeof(void*) == 4 ? 704 : 1024;

// The link below a session: a reliable byte stream. The calls must not block or call the session.
//   send  takes up to `size` >= 1 bytes; returns how many it took (1 to size), 0 if the link can
//         take none now, a negative number if it is lost
//   recv  the same for bytes that arrive; closed by the peer counts as lost
struct TlsIo {
  int (*send)(void* context, const uint8_t* bytes, size_t size) = nullptr;
  int (*recv)(void* context, uint8_t* out, size_t size) = nullptr;
  void* context = nullptr;
};

// Where a server finds a device's key. `find` is given a valid device id (IsValidDeviceId()) and
// sets *psk; any status but kOk means an unknown device. It should take as long for an unknown
// device as for a known one: the handshake goes on alike.
struct PskLookup {
  Status (*find)(void* context, ByteSpan identity, Key* psk) = nullptr;
  void* context = nullptr;
};

struct TlsConfig {
  // The most plaintext bytes in one record: 512, 1024, 2048, 4096, or 0 for the protocol's 16,384.
  // A client asks its server to keep to it, too (RFC 6066): set it to what the client's buffers
  // hold. A server keeps to what its client asks for. Each record costs 21 to 69 bytes besides.
  uint16_t max_fragment = 0;

  // kOk or kInvalidArgument.
  Status Validate() const;
};

// What the sessions of one side share: role, keys, random generator. A server has one for all of
// its connections, a client one for itself. It outlives its sessions.
class TlsContext {
 public:
  TlsContext();
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // A client that authenticates by `identity` (see IsValidDeviceId()) and `psk`; both are copied.
  // Returns kOk; kInvalidArgument for an identity, port or configuration outside its range (also
  // max_fragment with a Mbed TLS that lacks the extension), kEntropyFailed, or kCryptoFailed. The
  // context is then not usable. No session may be using the context. The same holds for
  // InitServer().
  Status InitClient(const Port& port, ByteSpan identity, const Key& psk,
                    const TlsConfig& config = {});

  // A server. A client whose identity is unknown or not a valid device id is treated like one with
  // a wrong key, under a random key: it cannot tell the two apart.
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
//                   were altered on the way
//   kPeerRefused    the peer sent a fatal alert: for a client, what the two above mean to a server
//   kLinkLost       the link was lost, or closed without the peer's Close(): data may be missing
//   kEntropyFailed, kCryptoFailed  this side failed
// After kWouldBlock wait until the link can be read, or, if wants_write(), written.
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

  // Goes on with the handshake. Returns kOk when it is complete, kWouldBlock until then.
  Status Handshake();

  // Reads what has arrived, at most out.size() >= 1 bytes.
  //   *read  how many, on kOk; 0 if the peer closed its direction: nothing more will come
  // Call it until it returns kWouldBlock before waiting for the link: a record may hold more than
  // one `out`.
  Status Read(MutableByteSpan out, size_t* read);

  // Sends up to one record from the front of `data`, which has at least one byte.
  //   *written  how many bytes were taken, on kOk: 1 to data.size()
  // After kWouldBlock repeat the call with the same bytes (more may follow them; fewer are
  // kInvalidArgument): they are already encrypted and partly sent.
  Status Write(ByteSpan data, size_t* written);

  // Ends the session: sends what is left and tells the peer that this is the end (close_notify), or
  // after a failure what was wrong (alert). Repeat on kWouldBlock. Returns kOk or kLinkLost;
  // closing the link itself is up to the caller. Only Start() may follow.
  Status Close();

  // True if bytes wait because the link took none.
  bool wants_write() const;

  // On a server, after the handshake: the identity that proved to hold its key. Before that, and on
  // a client, empty. Valid until Start() or the destructor.
  ByteSpan peer_identity() const;

  // After the handshake: Mbed TLS' name of the cipher suite, for logs. Before: nullptr.
  const char* cipher_suite() const;

 private:
  alignas(16) uint8_t storage_[kTlsStorageSize];
  TlsSessionState* state_;  // in storage_
};

}  // namespace sotto

#endif  // SOTTO_TLS_H_
