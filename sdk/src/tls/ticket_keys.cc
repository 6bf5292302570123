#include <mbedtls/chachapoly.h>

#include "sotto/bytes.h"
#include "tls/state.h"

// A device's Mbed TLS is a client's: it has no part of this.
#if defined(SOTTO_TLS_GIVES_TICKETS)

namespace sotto {
namespace {

constexpr size_t kNonceBytes = 12;
constexpr size_t kTimeBytes = 8;
constexpr size_t kTagBytes = 16;
static_assert(kNonceBytes + kTimeBytes + kTagBytes == kTicketOverhead, "see tls_tickets.h");

constexpr size_t kMaxPlain = kTimeBytes + kMaxTicketContent;

// ChaCha20-Poly1305 (RFC 8439) under one key.
class Aead {
 public:
  explicit Aead(const Key& key) {
    mbedtls_chachapoly_init(&context_);
    is_ready_ = mbedtls_chachapoly_setkey(&context_, key.bytes) == 0;
  }
  ~Aead() { mbedtls_chachapoly_free(&context_); }
  Aead(const Aead&) = delete;
  Aead& operator=(const Aead&) = delete;

  // out: [plain.size() + kTagBytes]
  Status Seal(const uint8_t* nonce, ByteSpan plain, uint8_t* out) {
    if (!is_ready_) return Status::kCryptoFailed;
    const int failed = mbedtls_chachapoly_encrypt_and_tag(&context_, plain.size(), nonce, nullptr,
                                                          0, plain.data(), out, out + plain.size());
    return failed == 0 ? Status::kOk : Status::kCryptoFailed;
  }

  // sealed: with its tag; out: [sealed.size() - kTagBytes]
  Status Open(const uint8_t* nonce, ByteSpan sealed, uint8_t* out) {
    if (!is_ready_) return Status::kCryptoFailed;
    const size_t size = sealed.size() - kTagBytes;
    const int failed = mbedtls_chachapoly_auth_decrypt(&context_, size, nonce, nullptr, 0,
                                                       sealed.data() + size, sealed.data(), out);
    if (failed == MBEDTLS_ERR_CHACHAPOLY_AUTH_FAILED) return Status::kMismatch;
    return failed == 0 ? Status::kOk : Status::kCryptoFailed;
  }

 private:
  mbedtls_chachapoly_context context_;
  bool is_ready_ = false;
};

}  // namespace

TlsTicketKeys::~TlsTicketKeys() = default;  // a Key wipes itself

void TlsTicketKeys::Retire(uint64_t now_ms) {
  for (TicketKey& key : keys_) {
    if (!key.is_there || now_ms - key.born_ms < kTicketKeyLifeMs + kTicketLifeMs) continue;
    key = TicketKey();
  }
}

Status TlsTicketKeys::Renew(const Port& port, uint64_t now_ms) {
  Retire(now_ms);
  if (keys_[0].is_there && now_ms - keys_[0].born_ms < kTicketKeyLifeMs) return Status::kOk;
  TicketKey fresh;
  if (Status s = port.entropy(port.context, MutableByteSpan(fresh.key.bytes)); s != Status::kOk)
    return s;
  fresh.born_ms = now_ms;
  fresh.is_there = true;
  keys_[1] = keys_[0];
  keys_[0] = fresh;
  return Status::kOk;
}

Status TlsTicketKeys::Seal(const Port& port, ByteSpan content, MutableByteSpan out, size_t* size) {
  if (content.size() > kMaxTicketContent) return Status::kInvalidArgument;
  if (out.size() < content.size() + kTicketOverhead) return Status::kInvalidArgument;
  const uint64_t now_ms = port.now_ms(port.context);
  if (Status s = Renew(port, now_ms); s != Status::kOk) return s;
  uint8_t* const nonce = out.data();
  if (Status s = port.entropy(port.context, {nonce, kNonceBytes}); s != Status::kOk) return s;
  uint8_t plain[kMaxPlain];
  const WipeOnExit wipe(plain);
  StoreU64Le(now_ms, plain);
  __builtin_memcpy(plain + kTimeBytes, content.data(), content.size());
  const ByteSpan whole(plain, kTimeBytes + content.size());
  if (Status s = Aead(keys_[0].key).Seal(nonce, whole, nonce + kNonceBytes); s != Status::kOk) {
    return s;
  }
  *size = kTicketOverhead + content.size();
  return Status::kOk;
}

Status TlsTicketKeys::Open(const Port& port, ByteSpan ticket, MutableByteSpan out, size_t* size) {
  if (ticket.size() < kTicketOverhead || ticket.size() > kMaxTicketSize) return Status::kMismatch;
  const uint64_t now_ms = port.now_ms(port.context);
  Retire(now_ms);
  uint8_t plain[kMaxPlain];
  const WipeOnExit wipe(plain);
  Status opened = Status::kMismatch;
  for (const TicketKey& key : keys_) {
    if (!key.is_there || opened != Status::kMismatch) continue;
    opened = Aead(key.key).Open(ticket.data(), ticket.subspan(kNonceBytes), plain);
  }
  if (opened != Status::kOk) return opened;
  const size_t content = ticket.size() - kTicketOverhead;
  if (now_ms - LoadU64Le(plain) > kTicketLifeMs) return Status::kMismatch;
  if (out.size() < content) return Status::kInvalidArgument;
  __builtin_memcpy(out.data(), plain + kTimeBytes, content);
  *size = content;
  return Status::kOk;
}

}  // namespace sotto

#endif  // SOTTO_TLS_GIVES_TICKETS
