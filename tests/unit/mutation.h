// Spoils the bytes of a valid file as disks, editors and attackers do. A seed gives the same spoilt
// file on every machine.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sotto {

// SplitMix64: the same numbers with every standard library.
class MutationRandom {
 public:
  explicit MutationRandom(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    return z ^ z >> 31;
  }
  // Below `end`, which is at least 1.
  size_t Below(size_t end) { return static_cast<size_t>(Next() % end); }
  // A place in a file. Half of them are in its first bytes: headers lie there.
  size_t Place(const std::string& bytes) {
    return Below(
        std::max<size_t>(1, Below(2) == 0 ? std::min<size_t>(bytes.size(), 256) : bytes.size()));
  }
  template <class T, size_t N>
  const T& Of(const T (&all)[N]) {
    return all[Below(N)];
  }

 private:
  uint64_t state_;
};

namespace mutation {

inline void FlipBits(MutationRandom& random, std::string* bytes) {
  for (size_t i = random.Below(4) + 1; i-- > 0;) {
    char& byte = (*bytes)[random.Place(*bytes)];
    byte = static_cast<char>(byte ^ 1 << random.Below(8));
  }
}

inline void CutOff(MutationRandom& random, std::string* bytes) {
  bytes->resize(random.Below(bytes->size()));
}

inline void Insert(MutationRandom& random, std::string* bytes) {
  std::string more(random.Below(64) + 1, '\0');
  for (char& byte : more) byte = static_cast<char>(random.Next());
  bytes->insert(random.Place(*bytes), more);
}

inline void Delete(MutationRandom& random, std::string* bytes) {
  bytes->erase(random.Place(*bytes), random.Below(64) + 1);
}

inline void Duplicate(MutationRandom& random, std::string* bytes) {
  const std::string part = bytes->substr(random.Place(*bytes), random.Below(bytes->size()) + 1);
  bytes->insert(random.Place(*bytes), part);
}

// A number in binary, such as a length, becomes an extreme one.
inline void SetBinaryNumber(MutationRandom& random, std::string* bytes) {
  constexpr uint64_t kNumbers[] = {0,
                                   1,
                                   0x7F,
                                   0x80,
                                   0xFF,
                                   0x7FFF,
                                   0xFFFF,
                                   0x10000,
                                   1 << 28,
                                   0x7FFFFFFF,
                                   0x80000000,
                                   0xFFFFFFFF,
                                   uint64_t{1} << 32,
                                   uint64_t{1} << 62,
                                   ~uint64_t{0} >> 1,
                                   ~uint64_t{0}};
  const uint64_t number = random.Of(kNumbers);
  const size_t width = size_t{1} << random.Below(4);
  const size_t at = random.Place(*bytes);
  const bool is_big_endian = random.Below(2) == 0;
  for (size_t i = 0; i < width && at + i < bytes->size(); ++i) {
    (*bytes)[at + i] = static_cast<char>(number >> 8 * (is_big_endian ? width - 1 - i : i));
  }
}

// A number in a text.
inline void SetNumber(MutationRandom& random, std::string* bytes) {
  constexpr const char* kNumbers[] = {"",
                                      "-1",
                                      "0",
                                      "-0.0",
                                      "1e308",
                                      "-1e308",
                                      "1e-320",
                                      "nan",
                                      "inf",
                                      "1e9999",
                                      "0x7f",
                                      "2147483648",
                                      "4294967296",
                                      "1099511627776",
                                      "9223372036854775808",
                                      "18446744073709551616",
                                      "0.30000000000000000000000000001",
                                      "1.5"};
  constexpr const char kOfNumbers[] = "0123456789.+-eE";
  size_t begin = random.Place(*bytes);
  while (begin < bytes->size() && std::isdigit(static_cast<unsigned char>((*bytes)[begin])) == 0)
    ++begin;
  if (begin == bytes->size()) return SetBinaryNumber(random, bytes);
  const size_t end = std::min(bytes->find_first_not_of(kOfNumbers, begin), bytes->size());
  bytes->replace(begin, end - begin, random.Of(kNumbers));
}

inline void SetSign(MutationRandom& random, std::string* bytes) {
  constexpr char kSigns[] = "\n\r\t ,;:.=#\"'[]{}()\\/-\x7F\xC3\xFF";  // and a byte 0
  (*bytes)[random.Place(*bytes)] = random.Of(kSigns);
}

// A number becomes an array of arrays, which is whole and deeper than a stack.
inline void SetDeepArray(MutationRandom& random, std::string* bytes) {
  const size_t levels = random.Below(2) == 0 ? 10000 : 300000;
  const size_t begin = bytes->find_first_of("0123456789", random.Place(*bytes));
  if (begin == std::string::npos) return;
  const size_t end = std::min(bytes->find_first_not_of("0123456789.+-e", begin), bytes->size());
  bytes->replace(begin, end - begin, std::string(levels, '[') + "1" + std::string(levels, ']'));
}

// Brackets in brackets that nobody closes.
inline void Nest(MutationRandom& random, std::string* bytes) {
  constexpr const char* kOpening[] = {"[", "{\"a\":", "(", "[[", "\"", "a."};
  const std::string opening = random.Of(kOpening);
  std::string all;
  for (size_t left = 30000 / opening.size(); left-- > 0;) all += opening;
  bytes->insert(random.Place(*bytes), all);
}

}  // namespace mutation

inline std::string MutatedBytes(MutationRandom& random, std::string bytes) {
  using namespace mutation;
  constexpr void (*kWays[])(MutationRandom&, std::string*) = {
      FlipBits,        FlipBits,  CutOff,    Insert,  Delete, Duplicate,   SetBinaryNumber,
      SetBinaryNumber, SetNumber, SetNumber, SetSign, Nest,   SetDeepArray};
  for (size_t i = random.Below(8) == 0 ? 3 : 1; i-- > 0 && !bytes.empty();) {
    random.Of(kWays)(random, &bytes);
  }
  return bytes;
}

}  // namespace sotto
