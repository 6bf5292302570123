#include "sotto/keys.h"

#include "sotto/bytes.h"

namespace sotto {
namespace {

constexpr char kTlsInfo[] = "sotto psk";
constexpr char kRoundInfo[] = "sotto lrq 1";
constexpr char kOrderInfo[] = "sotto order 1";
constexpr size_t kMaxInfoSize = sizeof(kOrderInfo) + kMaxDeviceIdSize + 8 + kNonceSize;

template <size_t N>
ByteSpan Text(const char (&text)[N]) {
  return {reinterpret_cast<const uint8_t*>(text), N - 1};
}

bool IsValid(const UpdateIdentity& u) {
  return u.job_id.size() == kJobIdSize && IsValidDeviceId(u.device_id) &&
         u.nonce.size() == kNonceSize;
}

Status DeriveForUpdate(const Key& secret, ByteSpan label, const UpdateIdentity& u, Key* out) {
  if (!IsValid(u)) return Status::kInvalidArgument;
  uint8_t info[kMaxInfoSize];
  size_t size = 0;
  const auto append = [&](ByteSpan part) {
    __builtin_memcpy(info + size, part.data(), part.size());
    size += part.size();
  };
  uint8_t numbers[8];
  StoreU32Le(u.round, numbers);
  StoreU32Le(u.attempt, numbers + 4);
  append(label);
  append(u.device_id);
  append(numbers);
  append(u.nonce);
  return HkdfSha256(secret.bytes, u.job_id, {info, size}, out);
}

bool IsNameCharacter(uint8_t c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

}  // namespace

Status DeriveTlsKey(const Key& secret, Key* out) {
  return HkdfSha256(secret.bytes, {}, Text(kTlsInfo), out);
}

Status DeriveRoundKey(const Key& secret, const UpdateIdentity& update, Key* out) {
  return DeriveForUpdate(secret, Text(kRoundInfo), update, out);
}

Status DeriveOrderKey(const Key& secret, const UpdateIdentity& update, Key* out) {
  return DeriveForUpdate(secret, Text(kOrderInfo), update, out);
}

bool IsValidDeviceId(ByteSpan name) {
  if (name.empty() || name.size() > kMaxDeviceIdSize) return false;
  for (const uint8_t c : name) {
    if (!IsNameCharacter(c)) return false;
  }
  return true;
}

}  // namespace sotto
