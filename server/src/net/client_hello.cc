#include "net/client_hello.h"

#include <algorithm>
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
constexpr size_t kVersionAndTime = 2 + 4;
constexpr size_t kRandom = 28;
constexpr size_t kAlpn = 16;  // RFC 7301, section 3.1

// Takes fields from the front. A field that is not there whole is empty, and so is all after it.
class Fields {
 public:
  explicit Fields(ByteSpan bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }
  bool has(size_t size) const { return rest_.size() >= size; }

  ByteSpan Take(size_t size) {
    if (size > rest_.size()) {
      rest_ = {};
      return {};
    }
    const ByteSpan field = rest_.first(size);
    rest_ = rest_.subspan(size);
    return field;
  }

  size_t TakeNumber(size_t size) {
    size_t number = 0;
    for (const uint8_t byte : Take(size)) number = number << 8 | byte;
    return number;
  }

  // A field after its length, a number of `size` bytes.
  ByteSpan TakeVector(size_t size) { return Take(TakeNumber(size)); }

 private:
  ByteSpan rest_;
};

// Sets *content to the first extension of that type. False if there is none.
bool FindExtension(ByteSpan client_hello, size_t wanted, ByteSpan* content) {
  Fields record(client_hello.subspan(kRecordHeader - 2));
  Fields body(record.TakeVector(2).subspan(kMessageHeader));
  body.Take(kVersionAndTime + kRandom);
  body.TakeVector(1);  // session id
  body.TakeVector(2);  // cipher suites
  body.TakeVector(1);  // compression methods
  for (Fields extensions(body.TakeVector(2)); !extensions.empty();) {
    const size_t type = extensions.TakeNumber(2);
    const bool has_length = extensions.has(2);
    *content = extensions.TakeVector(2);
    if (type == wanted) return has_length;
  }
  return false;
}

// The names of the ALPN extension, one after the other with their lengths.
ByteSpan ProtocolNames(ByteSpan client_hello) {
  ByteSpan content;
  if (!FindExtension(client_hello, kAlpn, &content)) return {};
  return Fields(content).TakeVector(2);
}

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

ByteSpan RandomOf(ByteSpan bytes) {
  return bytes.subspan(kRecordHeader + kMessageHeader + kVersionAndTime, kRandom);
}

bool HasExtension(ByteSpan bytes, size_t type) {
  ByteSpan content;
  return FindExtension(bytes, type, &content);
}

ByteSpan FindProtocol(ByteSpan bytes, std::string_view prefix) {
  for (Fields names(ProtocolNames(bytes)); !names.empty();) {
    const ByteSpan name = names.TakeVector(1);
    if (name.size() > prefix.size() && std::equal(prefix.begin(), prefix.end(), name.begin())) {
      return name.subspan(prefix.size());
    }
  }
  return {};
}

}  // namespace sotto::server
