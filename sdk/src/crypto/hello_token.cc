#include "sotto/hello_token.h"

#include "sotto/key_labels.h"
#include "sotto/keys.h"

namespace sotto {
namespace {

char* AppendHex(ByteSpan bytes, char* to) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (const uint8_t byte : bytes) {
    *to++ = kDigits[byte >> 4];
    *to++ = kDigits[byte & 15];
  }
  return to;
}

}  // namespace

Status DeriveHelloToken(const Key& psk, ByteSpan random, HelloToken* out) {
  const ByteSpan label(reinterpret_cast<const uint8_t*>(key_label::kHelloProof),
                       sizeof(key_label::kHelloProof) - 1);
  Key key;
  if (Status s = DeriveKey(psk, key_label::kHello, 0, 0, 0, &key); s != Status::kOk) return s;
  __builtin_memcpy(out->handle, key.bytes, sizeof(out->handle));
  if (Status s = HkdfSha256(psk.bytes, random, label, &key); s != Status::kOk) return s;
  __builtin_memcpy(out->proof, key.bytes, sizeof(out->proof));
  return Status::kOk;
}

void WriteHelloToken(const HelloToken& token, char (&out)[kHelloTokenTextSize + 1]) {
  constexpr size_t kPrefixSize = sizeof(kHelloTokenPrefix) - 1;
  __builtin_memcpy(out, kHelloTokenPrefix, kPrefixSize);
  char* end = AppendHex(token.proof, AppendHex(token.handle, out + kPrefixSize));
  *end = '\0';
}

}  // namespace sotto
