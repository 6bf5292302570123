// A line of text in a fixed buffer, for programs without stdio. What does not fit is cut off. Part
// of ports/conformance.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace sotto::conformance {

// The low `digits` hexadecimal digits of a number.
struct Hex {
  uint64_t value;
  int digits;
};

class Line {
 public:
  const char* text() const { return text_; }

  Line& operator<<(const char* s) {
    for (; *s != '\0'; ++s) Add(*s);
    return *this;
  }

  Line& operator<<(Hex hex) {
    for (int i = hex.digits - 1; i >= 0; --i) Add("0123456789abcdef"[(hex.value >> (4 * i)) & 15]);
    return *this;
  }

  template <typename Integer, typename = std::enable_if_t<std::is_integral_v<Integer>>>
  Line& operator<<(Integer n) {
    auto magnitude = static_cast<uint64_t>(n);
    if (n < 0) {
      Add('-');
      magnitude = 0 - magnitude;
    }
    char digits[20];
    int count = 0;
    do {
      digits[count++] = static_cast<char>('0' + magnitude % 10);
      magnitude /= 10;
    } while (magnitude != 0);
    while (count > 0) Add(digits[--count]);
    return *this;
  }

 private:
  static constexpr size_t kCapacity = 400;

  void Add(char c) {
    if (size_ < kCapacity) text_[size_++] = c;
  }

  char text_[kCapacity + 1] = {};
  size_t size_ = 0;
};

}  // namespace sotto::conformance
