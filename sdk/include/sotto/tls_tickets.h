// Sessions that resume: what a client keeps, and the keys of a server's tickets (RFC 5077).
// Part of sotto/tls.
//
// A handshake with forward secrecy costs a board some 30 million instructions. A client that sleeps
// between two connections keeps its session in a TlsTicket of its owner, and its next handshake
// takes a hash or two and one turnaround less. Nobody resumes unless both owners say so:
// TlsConfig::ticket of the client, TlsConfig::ticket_keys of the server.
//
// A ticket is the session, sealed by the server for itself alone (ChaCha20-Poly1305):
//
//   nonce (12) | sealed: issued_ms (8), master secret (48), suite (2), owner (16), id | tag (16)
//
// The owner is a fingerprint of the pre-shared key under which the session's handshake was done,
// and of the id. A resumed handshake does not name a pre-shared key, so the server looks the id up
// again: a device that it does not know now, or that has another key now, has no session. The
// client falls back to a full handshake, within the same connection.
//
// What it costs: forward secrecy. Who learns a server's ticket key, or a client's TlsTicket, reads
// the sessions that they open: all connections that began with one full handshake. A ticket's life
// is kTicketLifeMs at most, and a resumed session gets no new ticket. So a day after a full
// handshake nothing opens its session but the server's key, which is wiped a day later, and the
// memory of a client that has slept since: it wipes its ticket when it wakes.
//
// One thread at a time for each object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sotto/crypto.h"
#include "sotto/keys.h"
#include "sotto/port.h"

namespace sotto {

// From the full handshake on. A server refuses older tickets, whatever the client says.
constexpr uint64_t kTicketLifeMs = 24ULL * 3600 * 1000;

// The time for which a key seals tickets; it opens them until the last one is too old.
constexpr uint64_t kTicketKeyLifeMs = 24ULL * 3600 * 1000;

constexpr size_t kTlsMasterSize = 48;
constexpr size_t kTicketOwnerSize = 16;

// Bytes of a ticket beyond its content, and the most of one, for the longest device id.
constexpr size_t kTicketOverhead = 12 + 8 + 16;
constexpr size_t kMaxTicketContent = kTlsMasterSize + 2 + kTicketOwnerSize + kMaxDeviceIdSize;
constexpr size_t kMaxTicketSize = kTicketOverhead + kMaxTicketContent;

// What a client keeps of its last session. Its owner only provides the memory and keeps it while
// the board sleeps; a board that loses its RAM makes a full handshake. Secret: it opens the
// connections of that session. Its destructor wipes it.
class TlsTicket {
 public:
  TlsTicket() = default;
  ~TlsTicket() { Forget(); }
  TlsTicket(const TlsTicket&) = delete;
  TlsTicket& operator=(const TlsTicket&) = delete;

  // Wipes it: the next handshake is a full one.
  void Forget();

  // Wipes a session whose full handshake was more than kTicketLifeMs ago. Call it now and then,
  // also while a connection lasts; a handshake does it, too.
  //   now_ms  Port::now_ms of the port that InitClient() got
  void Retire(uint64_t now_ms);

  // Whether the next handshake tries to resume a session.
  bool is_there() const { return size_ != 0; }

 private:
  friend struct TlsContextState;
  friend struct TlsSessionState;

  void Drop();  // forgets the session, not the owner

  uint8_t master_[kTlsMasterSize] = {};
  uint8_t owner_[kTicketOwnerSize] = {};  // fingerprint of this device's id and key
  uint8_t bytes_[kMaxTicketSize] = {};
  uint64_t made_ms_ = 0;  // when its full handshake was complete
  uint16_t size_ = 0;     // of the ticket in bytes_; 0: there is none
  uint16_t suite_ = 0;    // of the session
  uint8_t tries_ = 0;     // to resume since a handshake was completed
};

// The keys that seal a server's tickets. They are drawn from a port and live in this object alone:
// a server that starts anew opens no earlier ticket. There is no key until the first ticket. An
// application calls Retire(); the rest is called by TlsContext.
class TlsTicketKeys {
 public:
  TlsTicketKeys() = default;
  ~TlsTicketKeys();
  TlsTicketKeys(const TlsTicketKeys&) = delete;
  TlsTicketKeys& operator=(const TlsTicketKeys&) = delete;

  // Wipes the keys whose tickets are all too old. Call it now and then, also while nobody connects.
  //   now_ms  Port::now_ms of the port that Seal() gets
  void Retire(uint64_t now_ms);

  // Makes a ticket; renews the key first if it is older than kTicketKeyLifeMs.
  //   port     its clock and its entropy
  //   content  at most kMaxTicketContent bytes
  //   out      [>= content.size() + kTicketOverhead]; *size says how many of them, on kOk
  // Returns kOk, kEntropyFailed, kCryptoFailed, or kInvalidArgument for a size out of range.
  Status Seal(const Port& port, ByteSpan content, MutableByteSpan out, size_t* size);

  // Opens a ticket of Seal(). The comparison of its tag takes the same time for every ticket.
  //   ticket  any bytes
  //   out     [kMaxTicketContent]; *size says how many of them, on kOk. Wipe it after use
  // Returns kOk; kMismatch if no key opens it or it is older than kTicketLifeMs; kCryptoFailed.
  Status Open(const Port& port, ByteSpan ticket, MutableByteSpan out, size_t* size);

 private:
  struct TicketKey {
    Key key;
    uint64_t born_ms = 0;
    bool is_there = false;
  };

  Status Renew(const Port& port, uint64_t now_ms);

  TicketKey keys_[2];  // the key that seals, and the previous key
};

}  // namespace sotto
