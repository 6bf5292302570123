#include <mbedtls/sha256.h>
#include <mbedtls/version.h>
#include <new>

#include "sotto/bytes.h"
#include "sotto/crypto.h"

namespace sotto {
namespace {

// Mbed TLS 2.28 names the calls that return an error mbedtls_sha256_*_ret; 3.x dropped the suffix.
#if MBEDTLS_VERSION_MAJOR < 3
int Starts(mbedtls_sha256_context* c) { return mbedtls_sha256_starts_ret(c, 0); }
int Adds(mbedtls_sha256_context* c, ByteSpan d) {
  return mbedtls_sha256_update_ret(c, d.data(), d.size());
}
int Finishes(mbedtls_sha256_context* c, uint8_t* out) { return mbedtls_sha256_finish_ret(c, out); }
#else
int Starts(mbedtls_sha256_context* c) { return mbedtls_sha256_starts(c, 0); }
int Adds(mbedtls_sha256_context* c, ByteSpan d) {
  return mbedtls_sha256_update(c, d.data(), d.size());
}
int Finishes(mbedtls_sha256_context* c, uint8_t* out) { return mbedtls_sha256_finish(c, out); }
#endif

Status ToStatus(int error) { return error == 0 ? Status::kOk : Status::kCryptoFailed; }

mbedtls_sha256_context* Context(uint8_t* storage) {
  return std::launder(reinterpret_cast<mbedtls_sha256_context*>(storage));
}

constexpr size_t kHmacBlockSize = 64;

}  // namespace

Sha256::Sha256() {
  static_assert(sizeof(mbedtls_sha256_context) <= sizeof(context_), "enlarge Sha256::context_");
  auto* context = ::new (static_cast<void*>(context_)) mbedtls_sha256_context;
  mbedtls_sha256_init(context);
  status_ = ToStatus(Starts(context));
}

Sha256::~Sha256() { mbedtls_sha256_free(Context(context_)); }

Status Sha256::Update(ByteSpan data) {
  if (status_ == Status::kOk) status_ = ToStatus(Adds(Context(context_), data));
  return status_;
}

Status Sha256::UpdateU32(uint32_t value) {
  uint8_t bytes[4];
  StoreU32Le(value, bytes);
  return Update(bytes);
}

Status Sha256::Finish(uint8_t (&digest)[kSha256Size]) {
  uint8_t result[kSha256Size];
  WipeOnExit wipe(result);
  if (status_ == Status::kOk) status_ = ToStatus(Finishes(Context(context_), result));
  if (status_ != Status::kOk) return status_;
  __builtin_memcpy(digest, result, sizeof(result));
  status_ = ToStatus(Starts(Context(context_)));
  return Status::kOk;
}

Status Sha256Digest(ByteSpan bytes, uint8_t (&digest)[kSha256Size]) {
  Sha256 hash;
  if (Status s = hash.Update(bytes); s != Status::kOk) return s;
  return hash.Finish(digest);
}

HmacSha256::HmacSha256(ByteSpan key) : status_(Status::kOk) {
  uint8_t block[kHmacBlockSize] = {};
  WipeOnExit wipe(block);
  if (key.size() <= kHmacBlockSize) {
    if (!key.empty()) __builtin_memcpy(block, key.data(), key.size());
  } else {
    uint8_t digest[kSha256Size] = {};
    WipeOnExit wipe_digest(digest);
    status_ = hash_.Update(key);
    if (status_ == Status::kOk) status_ = hash_.Finish(digest);
    __builtin_memcpy(block, digest, sizeof(digest));
  }
  for (size_t i = 0; i < kHmacBlockSize; ++i) {
    outer_pad_[i] = block[i] ^ 0x5c;
    block[i] ^= 0x36;
  }
  if (status_ == Status::kOk) status_ = hash_.Update(block);
}

HmacSha256::~HmacSha256() { SecureWipe(outer_pad_, sizeof(outer_pad_)); }

Status HmacSha256::Update(ByteSpan data) {
  if (status_ == Status::kOk) status_ = hash_.Update(data);
  return status_;
}

Status HmacSha256::Finish(uint8_t (&tag)[kSha256Size]) {
  uint8_t digest[kSha256Size];
  WipeOnExit wipe(digest);
  if (status_ == Status::kOk) status_ = hash_.Finish(digest);
  if (status_ == Status::kOk) status_ = hash_.Update(outer_pad_);
  if (status_ == Status::kOk) status_ = hash_.Update(digest);
  return status_ == Status::kOk ? hash_.Finish(tag) : status_;
}

Status HkdfSha256(ByteSpan secret, ByteSpan salt, ByteSpan info, Key* out) {
  uint8_t pseudorandom_key[kSha256Size];
  WipeOnExit wipe(pseudorandom_key);
  {  // this scope lets `expand` reuse the stack of `extract`
    HmacSha256 extract(salt);
    if (Status s = extract.Update(secret); s != Status::kOk) return s;
    if (Status s = extract.Finish(pseudorandom_key); s != Status::kOk) return s;
  }
  HmacSha256 expand(pseudorandom_key);
  const uint8_t counter[1] = {1};
  if (Status s = expand.Update(info); s != Status::kOk) return s;
  if (Status s = expand.Update(counter); s != Status::kOk) return s;
  return expand.Finish(out->bytes);
}

}  // namespace sotto
