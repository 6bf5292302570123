#include "net/client_hello.h"

#include <cstdint>

namespace sotto::server {
namespace {

constexpr uint8_t kHandshakeRecord = 22;  // RFC 5246, section 6.2.1
constexpr uint8_t kMajorVersion = 3;
constexpr uint8_t kClientHelloType = 1;  // section 7.4
constexpr size_t kRecordHeader = 5;      // type, version, length
constexpr size_t kMessageHeader = 4;     // type, length
// Version, random, and session id, cipher suites and compression methods with their lengths.
constexpr size_t kLeastBody = 2 + 32 + 1 + 4 + 2;

}  // namespace

ClientHello CheckClientHello(ByteSpan bytes) {
  const size_t size = bytes.size();
  if (size > 0 && bytes[0] != kHandshakeRecord) return ClientHello::kImpossible;
  if (size > 1 && bytes[1] != kMajorVersion) return ClientHello::kImpossible;
  if (size < kRecordHeader) return ClientHello::kPartial;
  const size_t length = size_t{bytes[3]} << 8 | bytes[4];
  if (length < kMessageHeader + kLeastBody || kRecordHeader + length > kMaxClientHello) {
    return ClientHello::kImpossible;
  }
  if (size > kRecordHeader && bytes[5] != kClientHelloType) return ClientHello::kImpossible;
  if (size < kRecordHeader + kMessageHeader) return ClientHello::kPartial;
  const size_t message = size_t{bytes[6]} << 16 | size_t{bytes[7]} << 8 | bytes[8];
  if (message + kMessageHeader != length) return ClientHello::kImpossible;
  return size < kRecordHeader + length ? ClientHello::kPartial : ClientHello::kWhole;
}

}  // namespace sotto::server
