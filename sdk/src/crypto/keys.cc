#include "sotto/keys.h"

#include "sotto/bytes.h"
#include "sotto/key_labels.h"

namespace sotto {
namespace {

constexpr size_t kMaxInfoSize =
    sizeof(key_label::kOrder) + kMaxDeviceIdSize + 8 + kNonceSize + kSaltSize;

ByteSpan Text(const char* text) {
  return {reinterpret_cast<const uint8_t*>(text), __builtin_strlen(text)};
}

bool IsValid(const UpdateIdentity& u) {
  return u.job_id.size() == kJobIdSize && IsValidDeviceId(u.device_id) &&
         u.nonce.size() == kNonceSize && (u.salt.empty() || u.salt.size() == kSaltSize);
}

// Copies the bytes to `to`. Returns the address after them.
uint8_t* Append(ByteSpan bytes, uint8_t* to) {
  __builtin_memcpy(to, bytes.data(), bytes.size());
  return to + bytes.size();
}

Status DeriveForUpdate(const Key& secret, ByteSpan label, const UpdateIdentity& u, Key* out) {
  if (!IsValid(u)) return Status::kInvalidArgument;
  uint8_t info[kMaxInfoSize];
  uint8_t* end = Append(label, info);
  end = Append(u.device_id, end);
  StoreU32Le(u.round, end);
  StoreU32Le(u.attempt, end + 4);
  end = Append(u.salt, Append(u.nonce, end + 8));
  return HkdfSha256(secret.bytes, u.job_id, {info, static_cast<size_t>(end - info)}, out);
}

bool IsNameCharacter(uint8_t c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

Status DeriveKey(const Key& parent, const char* label, uint32_t a, uint32_t b, uint32_t c,
                 Key* out) {
  uint8_t salt[12];
  StoreU32Le(a, salt);
  StoreU32Le(b, salt + 4);
  StoreU32Le(c, salt + 8);
  return HkdfSha256(parent.bytes, salt, Text(label), out);
}

Status DeriveTlsKey(const Key& secret, Key* out) {
  return HkdfSha256(secret.bytes, {}, Text(key_label::kTls), out);
}

Status DeriveRoundKey(const Key& secret, const UpdateIdentity& update, Key* out) {
  const char* label = update.salt.empty() ? key_label::kRound : key_label::kRoundSalted;
  return DeriveForUpdate(secret, Text(label), update, out);
}

Status DeriveOrderKey(const Key& secret, const UpdateIdentity& update, Key* out) {
  if (!update.salt.empty()) return Status::kInvalidArgument;
  return DeriveForUpdate(secret, Text(key_label::kOrder), update, out);
}

bool IsValidDeviceId(ByteSpan name) {
  if (name.empty() || name.size() > kMaxDeviceIdSize) return false;
  for (const uint8_t c : name) {
    if (!IsNameCharacter(c)) return false;
  }
  return true;
}

}  // namespace sotto
