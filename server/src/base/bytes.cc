#include "base/bytes.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "sotto/bytes.h"
#include "sotto/posix/check.h"
#include "sotto/posix/hex.h"

namespace sotto::server {

std::vector<uint8_t> BytesOf(Span<const float> numbers) {
  std::vector<uint8_t> bytes(4 * numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) StoreU32Le(FloatBits(numbers[i]), &bytes[4 * i]);
  return bytes;
}

std::vector<float> FloatsOf(ByteSpan bytes) {
  std::vector<float> numbers(bytes.size() / 4);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = FloatFromBits(LoadU32Le(bytes.data() + 4 * i));
  }
  return numbers;
}

std::vector<uint8_t> FromHex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  if (text.size() % 2 != 0 || text.find_first_not_of(kDigits) != std::string_view::npos) {
    throw std::invalid_argument("no hexadecimal digits");
  }
  std::vector<uint8_t> bytes(text.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(16 * kDigits.find(text[2 * i]) + kDigits.find(text[2 * i + 1]));
  }
  return bytes;
}

std::array<uint8_t, kSha256Size> Sha256Of(ByteSpan bytes) {
  uint8_t digest[kSha256Size] = {};
  posix::Check(Sha256Digest(bytes, digest), "SHA-256");
  std::array<uint8_t, kSha256Size> result;
  std::copy(std::begin(digest), std::end(digest), result.begin());
  return result;
}

std::string Sha256Hex(std::string_view text) {
  const std::array<uint8_t, kSha256Size> digest = Sha256Of(BytesOf(text));
  return posix::Hex({digest.data(), digest.size()});
}

}  // namespace sotto::server
